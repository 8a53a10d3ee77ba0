package main_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"flower/modeltest"
)

// TestNoSecretIsStored plants keys wherever a run can meet them, lets everybody say them, and looks for them in every
// file that flower has written.
func TestNoSecretIsStored(t *testing.T) {
	const (
		token  = `gate"way\token/of+nobody&4711` // of no known shape: known because it is in use
		shaped = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
		vendor = "sk-ant-api03-AbCdEfGh-IjKlMnOp"
		typed  = "glpat-ABCDEFGHIJ0123456789"
		served = "header-of-a-server-4711"                    // of an MCP server, in the person's own file
		named  = "npm_abcdefghijklmnopqrstuvwxyz0123456789ab" // of a file
	)
	key := modeltest.DefaultKey
	binary := build(t)
	dir := t.TempDir()
	ws := filepath.Join(dir, "ws")
	for _, d := range []string{ws, filepath.Join(dir, "home")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	planted := "a " + shaped + "\nb " + key + "\nc " + vendor + "\nd " + token + "\n"
	if err := os.WriteFile(filepath.Join(ws, "keys.txt"), []byte(planted), 0o600); err != nil {
		t.Fatal(err)
	}
	inJSON, err := json.Marshal(map[string]string{"the": token, "and": planted})
	if err != nil {
		t.Fatal(err)
	}
	tools := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","description":"as ` + shaped + `"}}}`)
	tools.AddTool(&sdk.Tool{Name: "say", Description: "for " + served + " and " + shaped, InputSchema: schema},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "it is " + served + "\n" + planted}}}, nil
		})
	mcpServer := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return tools }, nil))
	t.Cleanup(mcpServer.Close)
	for path, content := range map[string]string{
		filepath.Join(dir, "home", ".config", "flower", "mcp.json"): `{"mcpServers":{"srv":{"type":"http","url":"` + mcpServer.URL + `","headers":{"Authorization":"` + served + `"}}}}`,
		filepath.Join(dir, "other.env"):                             "ANTHROPIC_AUTH_TOKEN='" + token + "'\n",
		filepath.Join(ws, named+".txt"):                             "x\n",
		filepath.Join(ws, "keys.json"):                              string(inJSON),
		filepath.Join(ws, "d", named+"x"):                           "x\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Long enough to be spilled, with a key across every border of a chunk that there could be.
	long := "for i in $(seq 400); do printf '%s' \"$(head -c $((i % 61)) /dev/zero | tr '\\0' .) \"; sed -n 's/^[ab] //p' keys.txt; done; env; cat /proc/$PPID/environ"
	worker := []modeltest.Player{
		modeltest.Answer(modeltest.Call("Read", secretInput{"file_path": "keys.txt"})),
		modeltest.Answer(modeltest.Call("Bash", secretInput{"command": "cat keys.txt; env; cat keys.txt >&2; exit 3"})),
		modeltest.Answer(modeltest.Call("Bash", secretInput{"command": long})),
		modeltest.Answer(modeltest.Call("mcp__srv__say", secretInput{"a": shaped})),
		modeltest.Answer(modeltest.Call("Grep", secretInput{"pattern": "[abcd] ", "output_mode": "content"})),
		modeltest.Answer(modeltest.Call("Glob", secretInput{"pattern": "**/*"}), modeltest.Call("Read", secretInput{"file_path": named + ".txt"})),
		modeltest.Answer(modeltest.Call("Bash", secretInput{"command": "ls -R; base64 -w0 keys.txt; cat keys.json; git init -q r; git -C r checkout -q -b " + shaped + "; git -C r status; rm -rf r; xxd -p keys.txt"})),
		modeltest.Answer(modeltest.Think("The key is "+shaped+", or was it "+vendor), modeltest.Text("Now."), modeltest.Call("Bash", secretInput{"command": "true", shaped: "x"})),
		modeltest.Answer(modeltest.Call("Write", secretInput{"file_path": "note.txt", "content": "it is " + vendor})),
		modeltest.Answer(modeltest.Call("Edit", secretInput{"file_path": "note.txt", "old_string": vendor, "new_string": shaped})),
		modeltest.Answer(modeltest.Text("I write "+shaped), modeltest.Call("Bash", secretInput{"command": "echo " + shaped + " >copy.txt"})),
		modeltest.Say("The keys are " + planted),
	}
	script := modeltest.Script{
		{ // the second run: refused by an endpoint that names the key in its reason
			When: func(r *modeltest.Request) bool { return r.Says("be refused") },
			Play: modeltest.Fail(400, "invalid_request_error", "no such thing for "+key+" and "+shaped+" and "+token),
		},
		{Role: modeltest.Clarifier, Plan: []modeltest.Player{
			modeltest.Answer(modeltest.Call("mcp__human__ask", secretInput{"question": "Is it " + shaped + "?"})),
			modeltest.Say(strings.Replace(secretBrief, "none", "never "+vendor, 1)),
		}},
		{Role: modeltest.GoalSetter, Play: modeltest.Say("# Goal\nlook at " + key + "\n\n# Checklist\n- " + shaped + " was seen\n")},
		{Role: modeltest.Coordinator, Plan: []modeltest.Player{
			modeltest.Answer(modeltest.Call("Agent", secretInput{"description": "look", "prompt": "Look at keys.txt and at " + vendor, "subagent_type": "worker"})),
			modeltest.Answer(modeltest.Call("Bash", secretInput{"command": "cat keys.txt"})),
			modeltest.Say("Seen: " + planted),
		}},
		{Role: modeltest.Worker, Plan: worker},
		{Role: modeltest.Judge, Play: modeltest.Say("## Conclusion\nachieved\n\n## Reason\n" + shaped + " was seen.\n")},
	}
	server := modeltest.Start(t, modeltest.Options{Player: script})
	run := func(request string) ([]byte, error) {
		flower := exec.Command(binary, request)
		flower.Dir = ws
		flower.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "LANG=C.UTF-8", "ANTHROPIC_BASE_URL=" + server.URL,
			"ANTHROPIC_API_KEY=" + key, "FLOWER_ENV=" + filepath.Join(dir, "other.env"), "GITHUB_TOKEN=" + shaped, "NOTES=my " + shaped,
		}
		flower.Stdin = strings.NewReader("yes, " + typed + "\n")
		return flower.CombinedOutput()
	}
	out, err := run("look at my keys, " + typed + " too")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	refused, err := run("now be refused, " + typed)
	if err == nil || !bytes.Contains(refused, []byte("no such thing for")) {
		t.Errorf("the second run: %v\n%s", err, refused)
	}
	out = append(out, refused...)
	secrets := map[string]string{"name of a file": named, "key in use": key, "token that is not used": token, "shape": shaped, "vendor": vendor, "typed": typed, "header of a server": served}
	look := func(where string, data []byte) {
		for name, secret := range secrets {
			for form, text := range map[string]string{
				"": secret, " in JSON": quoted(secret), " in hex": hex.EncodeToString([]byte(secret)), " in base64": base64.RawStdEncoding.EncodeToString([]byte(secret)), " in a URL": url.QueryEscape(secret + "/"),
			} {
				if bytes.Contains(data, []byte(text)) {
					t.Errorf("%s holds the %s%s", where, name, form)
				}
			}
		}
	}
	look("the screen", out)
	written := 0
	for _, root := range []string{filepath.Join(ws, "runs"), filepath.Join(ws, ".flower"), filepath.Join(dir, "home")} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if strings.HasSuffix(path, "/mcp.json") {
				return err // the person's own
			}
			if err == nil && d.IsDir() && !strings.Contains(path, "/.flower") {
				if info, err := d.Info(); err == nil && info.Mode().Perm()&0o077 != 0 {
					t.Errorf("%s has mode %v", path, info.Mode())
				}
			}
			look("the path "+path, []byte(strings.TrimPrefix(path, root)))
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			written++
			data, err := os.ReadFile(path)
			look(path, data)
			info, infoErr := d.Info()
			if infoErr == nil && !strings.Contains(path, "/.flower/") && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has mode %v", path, info.Mode())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	spilled, _ := filepath.Glob(ws + "/.flower/spill/*.txt")
	if written < 6 || len(spilled) == 0 {
		t.Errorf("the run has written %d files and spilled %d: the test is worth nothing", written, len(spilled))
	}
	// The person's own file is as it was, and what the model wrote has what it said.
	if data, err := os.ReadFile(filepath.Join(ws, "keys.txt")); err != nil || string(data) != planted {
		t.Errorf("keys.txt is %q, %v", data, err)
	}
	if data, err := os.ReadFile(filepath.Join(ws, "copy.txt")); err != nil || string(data) != shaped+"\n" {
		t.Errorf("copy.txt is %q, %v", data, err)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}} {
		git := exec.Command("git", args...)
		git.Dir, git.Env = ws, append(os.Environ(), "HOME="+dir, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git := exec.Command("git", "diff", "--cached", "--name-only")
	git.Dir = ws
	staged, err := git.Output()
	if err != nil || bytes.Contains(staged, []byte("runs/")) || bytes.Contains(staged, []byte("spill")) {
		t.Errorf("git would take %s, %v", staged, err)
	}
}

// quoted is a text as a string of JSON has it.
func quoted(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // no string fails
	}
	return strings.Trim(string(data), `"`)
}

const secretBrief = `## Goal
Look at keys.

## Acceptance criteria
- they were seen

## Boundaries
none

## Unknowns and assumptions
none
`

// secretInput is a tool's input.
type secretInput = map[string]any
