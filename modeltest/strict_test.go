package modeltest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	pixels "image"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"flower/transcript"
)

const (
	readTool = `[{"name":"Read","description":"reads","input_schema":{"type":"object","properties":{}}}]`
	askRead  = `{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"text","text":"look"},{"type":"tool_use","id":"toolu_1","name":"Read","input":{"p":1}},{"type":"tool_use","id":"toolu_2","name":"Read","input":{}}]}`
	res1     = `{"type":"tool_result","tool_use_id":"toolu_1","content":"one"}`
	res2     = `{"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"two"}],"is_error":true}`
	cc       = `"cache_control":{"type":"ephemeral"}`
	cc1h     = `"cache_control":{"type":"ephemeral","ttl":"1h"}`
)

func say(role, text string) string { return `{"role":"` + role + `","content":"` + text + `"}` }

func marked(n int) string {
	var blocks []string
	for range n {
		blocks = append(blocks, `{"type":"text","text":"x",`+cc+`}`)
	}
	return `[{"role":"user","content":[` + strings.Join(blocks, ",") + `]}]`
}

func content(blocks string) string { return `[{"role":"user","content":[` + blocks + `]}]` }

func TestAccepted(t *testing.T) {
	loop := `[` + askRead + `,{"role":"user","content":[` + res1 + `,` + res2 + `,{"type":"text","text":"and"}]}]`
	rows := map[string]body{
		"least":                       good(),
		"stream":                      good().set("stream", "true"),
		"system text":                 good().set("system", `"be brief"`),
		"system blocks":               good().set("system", `[{"type":"text","text":"a",`+cc1h+`},{"type":"text","text":"b",`+cc+`}]`),
		"tools":                       good().set("tools", readTool, "tool_choice", `{"type":"auto"}`),
		"forced tool":                 good().set("tools", readTool, "tool_choice", `{"type":"tool","name":"Read"}`),
		"server tool":                 good().set("tools", `[{"type":"web_search_20260209","name":"web_search","max_uses":3}]`),
		"tool loop":                   good().set("tools", readTool, "messages", loop),
		"adaptive":                    good().set("thinking", `{"type":"adaptive"}`, "output_config", `{"effort":"high"}`),
		"budget":                      good().set("model", `"claude-opus-4-5"`, "max_tokens", "9000", "thinking", `{"type":"enabled","budget_tokens":2000}`),
		"dated name":                  good().set("model", `"claude-haiku-4-5-20251001"`),
		"four marks":                  good().set("messages", marked(4)),
		"top mark":                    good().set("messages", marked(3), "cache_control", `{"type":"ephemeral"}`),
		"metadata":                    good().set("metadata", `{"user_id":"abc"}`, "stop_sequences", `["x"]`, "temperature", "0.5"),
		"surrogate pair":              good().set("messages", `[{"role":"user","content":"\ud83d\ude00 \\ud83d"}]`),
		"empty result":                good().set("messages", `[`+askRead+`,{"role":"user","content":[`+res1+`,{"type":"tool_result","tool_use_id":"toolu_2"}]}]`),
		"image":                       good().set("messages", content(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}`)),
		"prefill where it is allowed": good().set("model", `"claude-haiku-4-5"`, "messages", `[`+say("user", "a")+`,`+say("assistant", "b")+`]`),
	}
	s, c := start(t, Options{})
	for name, b := range rows {
		t.Run(name, func(t *testing.T) {
			if status, data := c.post(b.String()); status != http.StatusOK {
				t.Errorf("answered %d: %s", status, data)
			}
		})
	}
	if got := len(s.Problems()); got != 0 {
		t.Errorf("%d problems, want none", got)
	}
	for _, r := range s.Requests() {
		if err := transcript.Validate(r.Messages); err != nil {
			t.Errorf("the server accepts what Validate refuses: %v", err)
		}
	}
}

func TestRefused(t *testing.T) {
	user := func(blocks string) body { return good().set("messages", content(blocks)) }
	loop := func(blocks string) body {
		return good().set("messages", `[`+askRead+`,{"role":"user","content":[`+blocks+`]}]`)
	}
	tool := func(t string) body { return good().set("tools", `[`+t+`]`) }
	old := good().set("model", `"claude-haiku-4-5"`, "max_tokens", "9000")
	after := func(blocks string) body {
		return old.set("messages", `[`+say("user", "a")+`,{"role":"assistant","content":[`+blocks+`]},`+say("user", "b")+`]`)
	}
	rows := []struct {
		name string
		body body
		text string
	}{
		{"no model", good().set("model", ""), "model: Field required"},
		{"no max_tokens", good().set("max_tokens", ""), "max_tokens: Field required"},
		{"no messages", good().set("messages", ""), "messages: Field required"},
		{"unknown key", good().set("colour", `"red"`), "colour: Extra inputs are not permitted"},
		{"letter case", good().set("Model", `"x"`), "Model: Extra inputs are not permitted"},
		{"model type", good().set("model", `7`), "model: Input should be a valid string"},
		{"model empty", good().set("model", `""`), "model: String should have at least 1 character"},
		{"model unknown", good().set("model", `"claude-none"`), "model: claude-none"},
		{"max_tokens type", good().set("max_tokens", `"7"`), "max_tokens: Input should be a valid integer"},
		{"max_tokens fraction", good().set("max_tokens", `7.5`), "max_tokens: Input should be a valid integer"},
		{"max_tokens zero", good().set("max_tokens", `0`), "max_tokens: Input should be greater than or equal to 1"},
		{"max_tokens above", good().set("max_tokens", `200000`), "max_tokens: 200000 > 128000, which is the maximum allowed"},
		{"stream type", good().set("stream", `1`), "stream: Input should be a valid boolean"},
		{"temperature", good().set("temperature", `1.5`), "temperature: Input should be less than or equal to 1"},
		{"temperature below", good().set("temperature", `-1`), "temperature: Input should be greater than or equal to 0"},
		{"metadata key", good().set("metadata", `{"session":"x"}`), "metadata.session: Extra inputs are not permitted"},
		{"metadata type", good().set("metadata", `{"user_id":1}`), "metadata.user_id: Input should be a valid string"},

		{"thinking budget on a new model", good().set("thinking", `{"type":"enabled","budget_tokens":2000}`), "budget_tokens are not supported"},
		{"thinking budget in adaptive", good().set("thinking", `{"type":"adaptive","budget_tokens":2000}`), "thinking.adaptive.budget_tokens: Extra inputs"},
		{"thinking adaptive on an old model", old.set("thinking", `{"type":"adaptive"}`), "adaptive thinking is not supported"},
		{"thinking no budget", old.set("thinking", `{"type":"enabled"}`), "thinking.enabled.budget_tokens: Field required"},
		{"thinking small budget", old.set("thinking", `{"type":"enabled","budget_tokens":1000}`), "greater than or equal to 1024"},
		{"thinking big budget", old.set("thinking", `{"type":"enabled","budget_tokens":9000}`), "`max_tokens` must be greater than `thinking.budget_tokens`"},
		{"thinking temperature", old.set("thinking", `{"type":"enabled","budget_tokens":2000}`, "temperature", "0.5"), "`temperature` may only be set to 1"},
		{"thinking type", good().set("thinking", `{"type":"deep"}`), "thinking: Input tag 'deep'"},
		{"thinking forced tool", good().set("tools", readTool, "thinking", `{"type":"adaptive"}`, "tool_choice", `{"type":"any"}`), "Thinking may not be enabled when tool_choice forces tool use"},
		{"effort", good().set("output_config", `{"effort":"huge"}`), "output_config.effort: Input should be 'low'"},
		{"output_config key", good().set("output_config", `{"depth":1}`), "output_config.depth: Extra inputs"},

		{"tool no name", tool(`{"input_schema":{"type":"object"}}`), "tools.0.custom.name: Field required"},
		{"tool name", tool(`{"name":"a b","input_schema":{"type":"object"}}`), "tools.0.custom.name: String should match pattern"},
		{"tool name long", tool(`{"name":"` + strings.Repeat("a", 129) + `","input_schema":{"type":"object"}}`), "tools.0.custom.name: String should match pattern"},
		{"tool no schema", tool(`{"name":"a"}`), "tools.0.custom.input_schema: Field required"},
		{"tool schema type", tool(`{"name":"a","input_schema":{"type":"string"}}`), "input_schema.type: Input should be 'object'"},
		{"tool schema untyped", tool(`{"name":"a","input_schema":{}}`), "input_schema.type: Field required"},
		{"tool schema string", tool(`{"name":"a","input_schema":"object"}`), "input_schema: Input should be a valid dictionary"},
		{"tool properties", tool(`{"name":"a","input_schema":{"type":"object","properties":[]}}`), "properties: Input should be a valid dictionary"},
		{"tool key", tool(`{"name":"a","input_schema":{"type":"object"},"run":1}`), "tools.0.custom.run: Extra inputs"},
		{"tool twice", tool(`{"name":"a","input_schema":{"type":"object"}},{"name":"a","input_schema":{"type":"object"}}`), "tools: Tool names must be unique."},
		{"tool_choice without tools", good().set("tool_choice", `{"type":"auto"}`), "tool_choice may only be specified while providing tools"},
		{"tool_choice unknown", good().set("tools", readTool, "tool_choice", `{"type":"tool","name":"Write"}`), "Tool 'Write' not found"},
		{"tool_choice type", good().set("tools", readTool, "tool_choice", `{"type":"some"}`), "tool_choice: Input tag 'some'"},

		{"system empty block", good().set("system", `[{"type":"text","text":""}]`), "system: text content blocks must be non-empty"},
		{"system image", good().set("system", `[{"type":"image"}]`), "system.0.type: Input should be 'text'"},
		{"system type", good().set("system", `{}`), "system: Input should be a valid list"},

		{"messages empty", good().set("messages", `[]`), "messages: at least one message is required"},
		{"message key", good().set("messages", `[{"role":"user","content":"a","id":"x"}]`), "messages.0.id: Extra inputs"},
		{"message no role", good().set("messages", `[{"content":"a"}]`), "messages.0.role: Field required"},
		{"message no content", good().set("messages", `[{"role":"user"}]`), "messages.0.content: Field required"},
		{"role system", good().set("messages", `[`+say("user", "a")+`,`+say("system", "b")+`]`), "messages.1.role: Input should be 'user' or 'assistant'"},
		{"content null", good().set("messages", `[{"role":"user","content":null}]`), "messages.0.content: Input should be a valid list"},
		{"content empty", good().set("messages", `[{"role":"user","content":[]}]`), "all messages must have non-empty content"},
		{"content empty string", good().set("messages", `[{"role":"user","content":""}]`), "all messages must have non-empty content"},
		{"first assistant", good().set("messages", `[`+say("assistant", "a")+`,`+say("user", "b")+`]`), `first message must use the "user" role`},
		{"two users", good().set("messages", `[`+say("user", "a")+`,`+say("user", "b")+`]`), `multiple "user" roles in a row`},
		{"two assistants", good().set("messages", `[`+say("user", "a")+`,`+say("assistant", "b")+`,`+say("assistant", "c")+`,`+say("user", "d")+`]`), `multiple "assistant" roles in a row`},
		{"prefill", good().set("messages", `[`+say("user", "a")+`,`+say("assistant", "b")+`]`), "does not support assistant message prefill"},
		{"trailing blank", old.set("messages", `[`+say("user", "a")+`,`+say("assistant", "b ")+`]`), "cannot end with trailing whitespace"},

		{"block no type", user(`{"text":"a"}`), "messages.0.content.0.type: Field required"},
		{"block type", user(`{"type":"smell"}`), "messages.0.content.0: Input tag 'smell'"},
		{"block string", user(`"a"`), "messages.0.content.0: Input should be a valid dictionary"},
		{"text missing", user(`{"type":"text"}`), "messages.0.content.0.text.text: Field required"},
		{"text type", user(`{"type":"text","text":1}`), "messages.0.content.0.text.text: Input should be a valid string"},
		{"text key", user(`{"type":"text","text":"a","id":"x"}`), "messages.0.content.0.text.id: Extra inputs"},
		{"text empty", user(`{"type":"text","text":""}`), "messages: text content blocks must be non-empty"},
		{"text blank", user(`{"type":"text","text":" \n\t"}`), "must contain non-whitespace text"},
		{"thinking of the user", user(`{"type":"thinking","thinking":"a","signature":"b"}`), "`thinking` blocks can only be in `assistant` messages"},
		{"call of the user", user(`{"type":"tool_use","id":"a","name":"b","input":{}}`), "`tool_use` blocks can only be in `assistant` messages"},
		{"result of the assistant", after(res1), "`tool_result` blocks can only be in `user` messages"},
		{"thinking no signature", after(`{"type":"thinking","thinking":"a"},{"type":"text","text":"b"}`), "thinking.signature: Field required"},
		{"thinking last", after(`{"type":"text","text":"b"},{"type":"thinking","thinking":"a","signature":"s"}`), "The final block in an assistant message cannot be `thinking`"},
		{"thinking alone", after(`{"type":"redacted_thinking","data":"a"}`), "The final block in an assistant message cannot be `thinking`"},
		{"call id", after(`{"type":"tool_use","id":"a b","name":"b","input":{}}`), "tool_use.id: String should match pattern"},
		{"call name", after(`{"type":"tool_use","id":"a","name":"b c","input":{}}`), "tool_use.name: String should match pattern"},
		{"call input string", after(`{"type":"tool_use","id":"a","name":"b","input":"{}"}`), "tool_use.input: Input should be a valid dictionary"},
		{"call no input", after(`{"type":"tool_use","id":"a","name":"b"}`), "tool_use.input: Field required"},
		{"image type", user(`{"type":"image","source":{"type":"base64","media_type":"image/bmp","data":"aGk="}}`), "media_type: Input should be 'image/jpeg'"},
		{"image data", user(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"?"}}`), "invalid base64 data"},
		{"image source", user(`{"type":"image","source":{"type":"disk"}}`), "source: Input tag 'disk'"},
		{"no result", loop(`{"type":"text","text":"x"}`), "`tool_use` ids were found without `tool_result` blocks immediately after: toolu_1, toolu_2"},
		{"one result", loop(res1), "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_2"},
		{"calls at the end", old.set("messages", `[`+askRead+`]`), "`tool_use` ids were found without"},
		{"result order", loop(res2 + `,` + res1), "must be in the order of their `tool_use` blocks"},
		{"result after text", loop(res1 + `,{"type":"text","text":"x"},` + res2), "`tool_result` blocks must come first"},
		{"result twice", loop(res1 + `,` + res1 + `,` + res2), "each tool_use must have a single result"},
		{"result unknown", loop(res1 + `,` + res2 + `,{"type":"tool_result","tool_use_id":"toolu_9"}`), "unexpected `tool_use_id` found in `tool_result` blocks: toolu_9"},
		{"result first", user(res1), "unexpected `tool_use_id`"},
		{"result late", good().set("messages", `[`+askRead+`,{"role":"user","content":[`+res1+`,`+res2+`]},`+say("assistant", "a")+`,{"role":"user","content":[`+res1+`]}]`), "messages.4.content.0: unexpected `tool_use_id`"},
		{"result empty text", loop(res1 + `,{"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":""}]}`), "text content blocks must be non-empty"},
		{"result content type", loop(res1 + `,{"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"tool_use","id":"a","name":"b","input":{}}]}`), "Input tag 'tool_use'"},
		{"result is_error", loop(res1 + `,{"type":"tool_result","tool_use_id":"toolu_2","is_error":"no"}`), "is_error: Input should be a valid boolean"},
		{"id twice", good().set("messages", `[`+askRead+`,{"role":"user","content":[`+res1+`,`+res2+`]},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Read","input":{}}]},{"role":"user","content":[`+res1+`]}]`), "`tool_use` ids must be unique"},

		{"five marks", good().set("messages", marked(5)), "A maximum of 4 blocks with cache_control may be provided. Found 5."},
		{"top mark and four", good().set("messages", `[{"role":"user","content":[{"type":"text","text":"a",`+cc+`},{"type":"text","text":"b",`+cc+`},{"type":"text","text":"c",`+cc+`},{"type":"text","text":"d",`+cc+`},{"type":"text","text":"e"}]}]`, "cache_control", `{"type":"ephemeral"}`), "Found 5."},
		{"mark type", user(`{"type":"text","text":"a","cache_control":{"type":"forever"}}`), "cache_control.type: Input should be 'ephemeral'"},
		{"mark ttl", user(`{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"2h"}}`), "ttl: Input should be '5m' or '1h'"},
		{"mark key", user(`{"type":"text","text":"a","cache_control":{"type":"ephemeral","x":1}}`), "cache_control.ephemeral.x: Extra inputs"},
		{"mark order", user(`{"type":"text","text":"a",` + cc + `},{"type":"text","text":"b",` + cc1h + `}`), "messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m'"},
		{"mark on nothing", user(`{"type":"text","text":"",` + cc + `}`), "cache_control cannot be set for empty text blocks"},
		{"mark on thinking", after(`{"type":"thinking","thinking":"a","signature":"s",` + cc + `},{"type":"text","text":"b"}`), "thinking.cache_control: Extra inputs"},
	}
	s, c := start(t, tolerant(Options{}))
	for i, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			status, data := c.post(row.body.String())
			text := errorText(t, data)
			if want := map[bool]int{true: 404, false: 400}[row.name == "model unknown"]; status != want {
				t.Errorf("status %d, want %d", status, want)
			}
			if !strings.Contains(text, row.text) {
				t.Errorf("text  %q\nwant  %q", text, row.text)
			}
			problems := s.Problems()
			if len(problems) != i+1 || problems[i].Text != text || problems[i].Status != status {
				t.Errorf("%d problems, last %v", len(problems), problems[len(problems)-1])
			}
		})
	}
}

func TestRefusedBytes(t *testing.T) {
	rows := []struct {
		name, body string
		status     int
		text       string
	}{
		{"empty", "", 400, "not valid JSON"},
		{"torn", good().String()[:40], 400, "not valid JSON"},
		{"two documents", good().String() + good().String(), 400, "not valid JSON"},
		{"list", "[]", 400, "not valid JSON"},
		{"null", "null", 400, "valid dictionary"},
		{"no UTF-8", strings.Replace(good().String(), "hello", "h\xff", 1), 400, "invalid UTF-8"},
		{"high surrogate", strings.Replace(good().String(), "hello", `a\ud83d b`, 1), 400, "lone surrogate"},
		{"low surrogate", strings.Replace(good().String(), "hello", `\\\ude00`, 1), 400, "lone surrogate"},
		{"too large", strings.Replace(good().String(), "hello", strings.Repeat("a", 32<<20), 1), 413, "maximum size"},
	}
	s, c := start(t, tolerant(Options{}))
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			status, data := c.post(row.body)
			if text := errorText(t, data); status != row.status || !strings.Contains(text, row.text) {
				t.Errorf("answered %d %q, want %d %q", status, text, row.status, row.text)
			}
		})
	}
	if got := len(s.Problems()); got != len(rows) {
		t.Errorf("%d problems, want %d", got, len(rows))
	}
}

func TestRefusedHeaders(t *testing.T) {
	rows := []struct {
		name   string
		change func(http.Header)
		status int
		text   string
	}{
		{"no key", func(h http.Header) { h.Del("X-Api-Key") }, 401, "header is required"},
		{"wrong key", func(h http.Header) { h.Set("X-Api-Key", "x") }, 401, "invalid x-api-key"},
		{"wrong token", func(h http.Header) { h.Del("X-Api-Key"); h.Set("Authorization", "Bearer x") }, 401, "Invalid bearer token"},
		{"both", func(h http.Header) { h.Set("Authorization", "Bearer "+DefaultKey) }, 400, "must not be sent together"},
		{"no version", func(h http.Header) { h.Del("Anthropic-Version") }, 400, "anthropic-version: header is required"},
		{"version", func(h http.Header) { h.Set("Anthropic-Version", "2020-01-01") }, 400, "not a valid version"},
		{"content type", func(h http.Header) { h.Set("Content-Type", "text/plain") }, 400, "application/json"},
	}
	s, c := start(t, tolerant(Options{}))
	fine := c.header
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			c.header = fine.Clone()
			row.change(c.header)
			status, data := c.post(good().String())
			if text := errorText(t, data); status != row.status || !strings.Contains(text, row.text) {
				t.Errorf("answered %d %q, want %d %q", status, text, row.status, row.text)
			}
		})
	}
	if got := len(s.Problems()); got != len(rows) {
		t.Errorf("%d problems, want %d", got, len(rows))
	}
	c.header = fine.Clone()
	c.header.Del("X-Api-Key")
	c.header.Set("Authorization", "Bearer "+s.Key)
	c.ask(good().String())
}

// image is an image block of a width in pixels, one pixel high.
func image(t *testing.T, width int) string {
	var buf bytes.Buffer
	if err := png.Encode(&buf, pixels.NewGray(pixels.Rect(0, 0, width, 1))); err != nil {
		t.Fatal(err)
	}
	return string(encode(transcript.Image("image/png", base64.StdEncoding.EncodeToString(buf.Bytes()))))
}

// The whole way of a request would take seconds under the race detector for so many bytes.
func TestImageSize(t *testing.T) {
	data := base64.StdEncoding.EncodeToString(make([]byte, maxImage/4*3+3))
	for text, raw := range map[string]string{
		"image exceeds 5 MB maximum: 5242884 bytes > 5242880 bytes":                 string(encode(transcript.Image("image/png", data))),
		"At least one of the image dimensions exceed max allowed size: 8000 pixels": image(t, 8001),
	} {
		b, err := parseBlock("messages.0.content.0", json.RawMessage(raw))
		if err != nil {
			t.Fatal(err)
		}
		if err := checkBlock(&b, "user"); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %q", err, text)
		}
	}
}

func TestManyImages(t *testing.T) {
	_, c := start(t, tolerant(Options{}))
	few, wide := strings.Repeat(image(t, 1)+",", 19), image(t, 2001)
	c.ask(good().set("messages", content(few+wide)).String())
	c.refused(good().set("messages", content(few+wide+","+image(t, 1))).String(), "messages.0.content.19.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels")
	c.ask(good().set("messages", content(strings.Repeat(few, 5)+few[:len(few)/19*5-1])).String())
	c.refused(good().set("messages", content(strings.Repeat(few, 5)+few[:len(few)/19*6-1])).String(), "Too much media: 0 document pages + 101 images > 100")
}

func TestWindow(t *testing.T) {
	_, c := start(t, tolerant(Options{Window: 100}))
	c.ask(good().String())
	long := good().set("messages", `[`+say("user", strings.Repeat("a", 1000))+`]`)
	c.refused(long.String(), "prompt is too long: 257 tokens > 100 maximum")
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good().String()))
	f.Add([]byte(good().set("messages", `[`+askRead+`,{"role":"user","content":[`+res1+`,`+res2+`]}]`, "tools", readTool, "cache_control", `{"type":"ephemeral"}`).String()))
	f.Add([]byte(good().set("thinking", `{"type":"enabled","budget_tokens":1e9}`, "system", `[{"type":"text","text":"a"}]`).String()))
	f.Add([]byte(`{"model":"claude-opus-5-5","max_tokens":1,"messages":[{"role":"user","content":[{"type":"image","source":null}]}]}`))
	f.Add([]byte(`{"a":"\ud83d\u"}`))
	s := newServer(Options{}, newPipe())
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, err := s.parse(data)
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Error("refused without a word")
			}
			return
		}
		rec := &Record{Request: &Request{Body: data}}
		if _, err := s.accept(rec, tree); err != nil {
			return
		}
		r := rec.Request
		if err := transcript.Validate(r.Messages); err != nil && len(r.Messages)%2 == 1 {
			t.Errorf("accepted what Validate refuses: %v", err)
		}
		if r.Turn() > r.Answers() || r.Prompts() == 0 || r.Conversation() == "" {
			t.Errorf("turn %d, answers %d, prompts %d, conversation %q", r.Turn(), r.Answers(), r.Prompts(), r.Conversation())
		}
	})
}
