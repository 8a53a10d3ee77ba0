package messages

import "testing"

func TestStatedWindow(t *testing.T) {
	for text, want := range map[string]int{
		"prompt is too long: 210000 tokens > 200000 maximum":                                                                               200_000,
		"This model's maximum context length is 131072 tokens. However, you requested 140000 tokens":                                       131_072,
		"maximum context length: 65,536":                                                                                                   65_536,
		"Input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again": 200_000,
		"the request exceeds the context window of 32768 tokens":                                                                           32_768,
		"exceeds the 8192 token limit":                                                                                                     8_192,
		"输入过长,超过上下文长度 65536":                                                                                                               65_536,
		"prompt is too long":                                          0,
		"your prompt of 41000 tokens is too long":                     0,
		"prompt is too long: 3 > 2":                                   0,
		"prompt is too long: 1 tokens > 99999999999999999999 maximum": 0,
	} {
		if got := statedWindow(text); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}
