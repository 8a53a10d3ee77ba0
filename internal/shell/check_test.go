package shell

import "testing"

func TestCheckable(t *testing.T) {
	for line, want := range map[string]bool{
		"go test ./...":                       true,
		"make":                                true,
		"pytest":                              true,
		"./greet Bob":                         true,
		"test -f hello.txt":                   true,
		"[ -f hello.txt ]":                    true,
		"[[ -f x ]]":                          true,
		"! grep -q x f":                       true,
		"cd sub && make":                      true,
		"echo hi | ./run":                     true,
		"python3 -c 'import x'":               true,
		"git diff --quiet":                    true,
		"rm -rf build && make":                true,
		"npm test":                            true,
		"grep 你好 f":                           true,
		"test $(wc -l < f) -eq 3":             true,
		"docker build .":                      true,
		"time make":                           true,
		"true":                                false,
		"false":                               false,
		"echo ok":                             false,
		"echo ok && true":                     false,
		"sleep 1":                             false,
		"python3":                             false,
		"id":                                  false,
		"ls":                                  false,
		"cd sub":                              false,
		"# nothing":                           false,
		"":                                    false,
		"git push":                            false,
		"git push origin main":                false,
		"make && git push":                    false,
		"git -c x=y -C d commit -m x":         false,
		"grep '完成；' f":                        true,
		"npm publish":                         false,
		"sudo make install":                   false,
		"vim x":                               false,
		"/usr/bin/vim x":                      false,
		"if x; then kubectl delete pod y; fi": false,
		"grep “x” f":                          false, // typeset quotes are no quotes
		"ls –la":                              false,
		"it's":                                false,
	} {
		if got := Checkable(line); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}

func FuzzCheckable(f *testing.F) {
	for _, s := range []string{"go test ./...", "git push", "a;b|c", "if x; then y; fi", "“"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if Checkable(line) && Checkable("git push && "+line) {
			t.Fatal("a push counts as a check")
		}
	})
}
