package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"flower/modeltest"
)

// TestRolesAreToldTheLanguage looks at what is really sent: Chinese and English roles have prompts of their own, any other
// language has the English ones and is told which one the person speaks.
func TestRolesAreToldTheLanguage(t *testing.T) {
	binary := build(t)
	const brief = "## Goal\na\n\n## Acceptance criteria\nb\n\n## Boundaries\nc\n\n## Unknowns and assumptions\nd\n"
	const goal = "# Goal\n\na\n\n# Checklist\n\n- it is there\n"
	script := func() modeltest.Script {
		return modeltest.Script{
			{Role: modeltest.Clarifier, Plan: []modeltest.Player{modeltest.Say(brief)}},
			{Role: modeltest.GoalSetter, Plan: []modeltest.Player{modeltest.Say(goal)}},
			{Role: modeltest.Coordinator, Plan: []modeltest.Player{
				modeltest.Answer(modeltest.Call("Agent", map[string]any{"description": "look", "prompt": "look", "subagent_type": "worker"})), modeltest.Say("done"),
			}},
			{Role: modeltest.Worker, Plan: []modeltest.Player{modeltest.Say("looked")}},
			{Role: modeltest.Judge, Plan: []modeltest.Player{modeltest.Say("## Conclusion\nachieved\n\n## Reason\nit is there\n\n## Failed\n")}},
		}
	}
	for lang, want := range map[string]struct{ head, told string }{
		"en": {head: "# Role: "}, "zh": {head: "# 角色:"},
		"de": {"# Role: ", "The person speaks German."}, "fr": {"# Role: ", "The person speaks French."},
		"es": {"# Role: ", "The person speaks Spanish."}, "ja": {"# Role: ", "The person speaks Japanese."},
	} {
		t.Run(lang, func(t *testing.T) {
			dir := t.TempDir()
			server, err := modeltest.New(modeltest.Options{Player: script()})
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			cmd := exec.Command(binary, "-w", dir, "-r", filepath.Join(dir, "runs"), "--lang", lang, "--timeout", "0", "--", "a thing")
			cmd.Dir = dir
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=" + server.Key}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			seen := map[modeltest.Role]bool{}
			for _, r := range server.Requests() {
				seen[r.Role()] = true
				if !strings.Contains(r.System, want.head) || strings.Contains(r.System, "The person speaks ") != (want.told != "") || !strings.Contains(r.System, want.told) {
					t.Errorf("the %s is told:\n%s", r.Role(), r.System)
				}
			}
			for _, role := range []modeltest.Role{modeltest.Clarifier, modeltest.GoalSetter, modeltest.Coordinator, modeltest.Worker, modeltest.Judge} {
				if !seen[role] {
					t.Errorf("no request of the %s: %v", role, seen)
				}
			}
		})
	}
}
