package shell

import "testing"

func TestProgram(t *testing.T) {
	for line, want := range map[string]string{
		"go test ./...":            "go",
		"  ./greet Bob | grep x":   "./greet",
		"cd sub && make":           "cd",
		"A=1 B=2 go build":         "go",
		"! grep -q x f":            "grep",
		"test -f x":                "test",
		"[ -f x ]":                 "[",
		"[[ -f x ]]":               "[[",
		"(cd x; make)":             "cd",
		"{ make; }":                "make",
		"time make":                "make",
		"hello.txt":                "hello.txt",
		"$CMD x":                   "",
		"\"a b\" c":                "a b",
		"A=1":                      "",
		"":                         "",
		"if x; then y; fi":         "x",
		"for i in a; do ./x; done": "./x",
		"((1))":                    "((",
		". ./x && y":               ".",
		"it's here":                "",
		"f() { x; }":               "",
		"func(a, b)":               "",
	} {
		if got := Program(line); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
