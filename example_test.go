package flower_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"flower"
	"flower/agent"
	"flower/messages"
	"flower/modeltest"
	"flower/sqlite"
	"flower/tools"
)

// Two steps with a terse agent, run twice in one directory: the second run is the second wake and goes on in the same
// sessions.
func Example() {
	endpoint, err := modeltest.New(modeltest.Options{Player: modeltest.PlayerFunc(readsTheWord)})
	if err != nil {
		log.Fatal(err)
	}
	defer endpoint.Close()
	dir, err := os.MkdirTemp("", "flower-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.WriteFile(filepath.Join(dir, "seed.txt"), []byte("sunflower\n"), 0o600); err != nil {
		log.Fatal(err)
	}

	terse := agent.Spec{
		Name:         "terse",
		Instructions: "Answer in one line at most: no explanation, no greeting.",
		Tools:        []string{"Read", "Glob"},
		Limits:       agent.Limits{Turns: 4},
	}
	workflow := &flower.Workflow{Steps: []flower.Step{
		{Name: "read", Agent: terse, Prompt: flower.Say("Read seed.txt and answer with the word in it.")},
		{Name: "shout", Agent: terse, Prompt: func(s *flower.State) string {
			return "Repeat in capitals: " + s.Values["read"].(string)
		}},
	}}

	var first *flower.Outcome
	for range 2 {
		outcome, err := runIn(dir, endpoint, workflow)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("wake", outcome.Woke, "says", outcome.Results[1].Text)
		if first != nil {
			fmt.Println("same sessions:", outcome.Sessions["read"] == first.Sessions["read"] && outcome.Sessions["shout"] == first.Sessions["shout"])
		}
		first = outcome
	}
	// Output:
	// wake 1 says SUNFLOWER
	// wake 2 says SUNFLOWER
	// same sessions: true
}

// runIn is one process's work: the parts are put together and the workflow runs.
func runIn(dir string, endpoint *modeltest.Server, w *flower.Workflow) (*flower.Outcome, error) {
	ctx := context.Background()
	workspace, err := flower.ResolveWorkspace(dir)
	if err != nil {
		return nil, err
	}
	runDir := filepath.Join(dir, "runs")
	store, err := sqlite.Open(ctx, filepath.Join(runDir, "sessions.db"), sqlite.Options{Workspace: workspace})
	if err != nil {
		return nil, err
	}
	model, err := messages.New(messages.Options{BaseURL: endpoint.URL, APIKey: endpoint.Key})
	if err != nil {
		return nil, err
	}
	toolbox, err := tools.New(tools.Options{Workspace: workspace})
	if err != nil {
		return nil, err
	}
	engine, err := agent.New(agent.Options{
		Model: agent.WithRetry(model, agent.Retry{}), Log: store, Toolbox: toolbox, ModelName: messages.DefaultModel, CWD: workspace,
	})
	if err != nil {
		return nil, err
	}
	rt, err := flower.NewRuntime(flower.RuntimeOptions{Workspace: workspace, RunDir: runDir, Engine: engine, Store: store})
	if err != nil {
		return nil, err
	}
	defer func() { _ = rt.Close() }()
	return w.Run(ctx, rt)
}

// readsTheWord plays the model: it reads the file it is told to read and answers from what it has read.
func readsTheWord(r *modeltest.Request) modeltest.Reply {
	if word, ok := strings.CutPrefix(r.Prompt(), "Repeat in capitals: "); ok {
		return modeltest.Say(strings.ToUpper(word))
	}
	results := r.Results()
	if len(results) == 0 {
		return modeltest.Answer(modeltest.Call("Read", map[string]any{"file_path": "seed.txt"}))
	}
	for word := range strings.FieldsSeq(results[0].PlainText()) {
		if word == "sunflower" {
			return modeltest.Say(word)
		}
	}
	return modeltest.Say("nothing there")
}
