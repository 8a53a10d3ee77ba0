package cli

import (
	"strings"
	"testing"

	"flower/agent"
	"flower/internal/config"
)

// streamed sends a text in parts and returns what was handed out, in pieces and while it came.
func streamed(parts []string, secrets ...string) (all string, early int, events []record) {
	r := config.NewRedactor(secrets...)
	at := inside{"l", "p"}
	p := newPieces(newSecretless(r), r.Longest(), func(ev record) { events = append(events, ev) })
	for _, part := range parts {
		p.delta(at, agent.TextDelta{Text: part}, false)
	}
	early = len(events)
	p.whole(at)
	var out strings.Builder
	for _, ev := range events {
		out.WriteString(ev.(pieceEvent).Text)
	}
	return out.String(), early, events
}

// newSecretless is what a screen does.
func newSecretless(r *config.Redactor) func(string) string {
	s := newScreen(&strings.Builder{}, false)
	s.hide(r.Redact)
	return s.Secretless
}

// byLetter is the worst way in which a text can come.
func byLetter(s string) []string { return strings.Split(s, "") }

const pieceKey = "sk-ant-REDACTED0123456789"

// TestPiecesHoldNoSecret cuts texts everywhere: what is handed out says nothing that the whole text would not.
func TestPiecesHoldNoSecret(t *testing.T) {
	pem := "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat(strings.Repeat("MIIEow", 10)+"\n", 4) + "-----END RSA PRIVATE KEY-----"
	token := "abcdefghij0123456789xyz"
	for _, test := range []struct{ said, secret string }{
		{"the key is " + pieceKey + " and that is it", pieceKey[7:]},
		{"key\n" + pieceKey, pieceKey[7:]},
		{"Authorization: Bearer " + token + " and more", token},
		{"Authorization: \"bearer   " + token + "\" and more", token},
		{"the pass phrase is correct horse battery staple, really, and that is all there is", "horse battery"},
		{"look: " + pem + "\nthat was it", "MIIEow"},
		{"look: " + pem[:150], "MIIEow"},
		{"a sk-ant-api\x1b]0; \x0703-abcdefghijklmnopqrstuvwxyz b", "abcdefghij"},
		{"a sk-ant-\u200bapi03-abcdefghijklmnopqrstuvwxyz b", "abcdefghij"},
	} {
		whole := []string{test.said}
		for at := range test.said {
			for _, parts := range [][]string{{test.said[:at], test.said[at:]}, byLetter(test.said), whole} {
				all, _, events := streamed(parts, "correct horse battery staple")
				if strings.Contains(all, test.secret) {
					t.Fatalf("%q in parts gives %q", test.said, all)
				}
				for _, ev := range events {
					if strings.Contains(ev.(pieceEvent).Text, test.secret[:6]) {
						t.Fatalf("%q in parts gives %+v", test.said, events)
					}
				}
			}
		}
	}
}

// TestPiecesComeEarly: a text without anything in it comes as it is, and word by word.
func TestPiecesComeEarly(t *testing.T) {
	for _, said := range []string{
		"one two three four five six\nseven", "中文 字 和 English, mixed: a b c d e f", strings.Repeat("word ", 10_000), "one", "",
	} {
		all, early, _ := streamed(byLetter(said), pieceKey)
		if all != said {
			t.Errorf("%.40q becomes %.40q", said, all)
		}
		if words := len(strings.Fields(said)) - len(pieceKey); early < words {
			t.Errorf("%.40q: %d pieces before the end", said, early)
		}
	}
}

// TestPiecesAreVoid: what will be no answer is taken back once, and only if something was handed out.
func TestPiecesAreVoid(t *testing.T) {
	at, other := inside{"l", ""}, inside{"l", "p"}
	var got []string
	p := newPieces(func(s string) string { return s }, 0, func(ev record) {
		switch ev := ev.(type) {
		case pieceEvent:
			got = append(got, ev.Path+ev.Of+":"+ev.Text)
		case piecesVoidEvent:
			got = append(got, ev.Path+"void")
		}
	})
	for _, d := range []struct {
		at       inside
		delta    agent.Delta
		thinking bool
	}{
		{at, agent.Begun{}, true}, {at, agent.ThinkingDelta{Text: "h m"}, true}, {other, agent.TextDelta{Text: "x y"}, true},
		{at, agent.TextDelta{Text: "a b"}, true}, {at, agent.Retrying{}, true}, {at, agent.Begun{}, true}, {at, agent.TextDelta{Text: "c"}, true},
		{at, agent.Begun{}, true}, {other, agent.ThinkingDelta{Text: "q q"}, false},
	} {
		p.delta(d.at, d.delta, d.thinking)
	}
	p.whole(at)
	p.whole(other)
	p.void(other)
	if want := "thinking:h |ptext:x |thinking:m|text:a |void|ptext:y"; strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// FuzzPieces: however a text comes, the pieces hold what the whole text would be, or less.
func FuzzPieces(f *testing.F) {
	f.Add("the key is "+pieceKey+" b", 3)
	f.Add("Bearer  abcdefghij0123456789xyz q", 1)
	f.Add("-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n", 7)
	f.Add("hunter2 hunter3 hunter2 hunter4", 2)
	f.Fuzz(func(t *testing.T, said string, n int) {
		const phrase = "hunter2 hunter4"
		r := config.NewRedactor(phrase)
		var parts []string
		for rest := said; rest != ""; {
			k := min(max(1, n), len(rest))
			parts, rest = append(parts, rest[:k]), rest[k:]
		}
		all, _, _ := streamed(parts, phrase)
		if want := newSecretless(r)(said); all != want && newSecretless(r)(all) != all {
			t.Fatalf("%q in parts of %d gives %q, the whole is %q", said, n, all, want)
		}
	})
}
