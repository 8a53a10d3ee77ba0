package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"flower/modeltest"
)

// TestJob runs the whole job in a git repository and looks at everything it leaves.
func TestJob(t *testing.T) {
	k := newKill(t, build(t), "", "")
	cmd, stdin, out := k.start("make some marks")
	k.converse(out, stdin)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, k.printed())
	}
	k.check(k.lineage())

	var rows []map[string]any
	if err := json.Unmarshal(k.file("runs/manifest.json"), &rows); err != nil {
		t.Fatal(err)
	}
	want := []string{"确认需求", "设定目标", "干活", "干活·判定#1", "干活#round2", "干活·判定#2"}
	if len(rows) != len(want) {
		t.Fatalf("%d rows, want %v", len(rows), want)
	}
	run := regexp.MustCompile(`^\d{8}-\d{6}-[0-9a-f]{6}$`)
	lineage := k.lineage()
	for i, row := range rows {
		if row["step"] != want[i] || row["ok"] != true || !run.MatchString(row["run"].(string)) {
			t.Errorf("row %d: %v", i, row)
		}
		for _, key := range []string{
			"step", "session_id", "ok", "cost_usd", "num_turns", "text", "error", "started_at", "ended_at", "attempts", "errors",
			"resumed", "retired", "context", "duration_s", "run",
		} {
			if _, ok := row[key]; !ok {
				t.Errorf("row %s has no %s", want[i], key)
			}
		}
		judge := strings.Contains(want[i], "判定")
		for _, id := range lineage {
			if judge && row["session_id"] == id {
				t.Errorf("the judge's session %s is in lineage", id)
			}
		}
	}
	if rows[2]["session_id"] != rows[4]["session_id"] || rows[3]["session_id"] == rows[5]["session_id"] {
		t.Error("the second round needs the worker's old session and a new judge")
	}
	if rows[3]["verdict"] != "not_yet" || rows[5]["verdict"] != "achieved" {
		t.Errorf("verdicts %v and %v", rows[3]["verdict"], rows[5]["verdict"])
	}
	if got := string(k.file("runs/lineage.json")); !strings.HasPrefix(got, "{\n  \"workspace\": \"") || !strings.Contains(got, "\"woke\": 1,\n") {
		t.Errorf("lineage:\n%s", got)
	}
	brief := string(k.file(".flower/notes/需求.md"))
	for _, heading := range []string{"# 需求确认书\n", "\n## 目标\n", "\n## 验收标准\n", "\n## 边界\n", "\n## 未知与假设\n"} {
		if !strings.Contains(brief, heading) {
			t.Errorf("no %q in the brief:\n%s", heading, brief)
		}
	}
	if goal := string(k.file(".flower/notes/目标.md")); !strings.Contains(goal, "# 目标\n") || !strings.Contains(goal, "# 判定清单\n") || !strings.Contains(goal, "- marks.txt has three lines") {
		t.Errorf("goal:\n%s", goal)
	}
	if index := string(k.file(".flower/INDEX.md")); !strings.Contains(index, "需求.md") || !strings.Contains(index, "目标.md") {
		t.Errorf("index:\n%s", index)
	}
	k.atOnce()
}

// atOnce checks that the first two workers were at work at the same time: the second one's first request came before
// the first one's last.
func (k *kill) atOnce() {
	last := map[string]int{}
	first := map[string]int{}
	for i, r := range k.server.Requests() {
		if r.Role() != modeltest.Worker {
			continue
		}
		name := r.FirstUser()
		if _, ok := first[name]; !ok {
			first[name] = i
		}
		last[name] = i
	}
	one, two := "Leave mark number 1 in marks.txt.", "Leave mark number 2 in marks.txt."
	if first[one] > last[two] || first[two] > last[one] {
		k.Errorf("the workers did not overlap: %v %v", first, last)
	}
	if len(first) != 3 {
		k.Errorf("%d workers", len(first))
	}
}

func (k *kill) file(name string) []byte {
	data, err := os.ReadFile(filepath.Join(k.dir, name))
	if err != nil {
		k.Fatal(err)
	}
	return data
}
