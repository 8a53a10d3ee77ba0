package modeltest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"flower/modeltest"
)

// A worker that reads a file and then says what is in it, over a connection that fails once.
func Example() {
	worker := modeltest.Script{{
		Role: modeltest.Worker,
		Turns: []modeltest.Player{
			modeltest.Passing(
				modeltest.Answer(
					modeltest.Text("I look first."),
					modeltest.Call("Read", map[string]string{"file_path": "main.go"}),
				),
				modeltest.Overloaded(), // the first attempt only
			),
			modeltest.PlayerFunc(func(r *modeltest.Request) modeltest.Reply {
				seen := r.Answered("Read")[0].Result.PlainText()
				return modeltest.Say(fmt.Sprintf("It has %d bytes.", len(seen)))
			}),
		},
	}}
	s, err := modeltest.New(modeltest.Options{Player: worker})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()

	request := `{"model": "claude-opus-5-5", "max_tokens": 100,
		"system": "# Role: worker\nDo it.", "messages": [{"role": "user", "content": "How long is main.go?"}]}`
	for range 2 {
		req, _ := http.NewRequestWithContext(context.Background(), http.MethodPost, s.URL+"/v1/messages", strings.NewReader(request))
		req.Header.Set("X-Api-Key", s.Key)
		req.Header.Set("Anthropic-Version", "2023-06-01")
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			fmt.Println(err)
			return
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		fmt.Println(res.StatusCode, strings.Contains(string(body), `"tool_use"`))
	}
	http.DefaultClient.CloseIdleConnections()
	fmt.Println(len(s.Requests()), len(s.Problems()))
	// Output:
	// 529 false
	// 200 true
	// 2 0
}
