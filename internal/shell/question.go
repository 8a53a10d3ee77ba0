package shell

import "fmt"

var (
	// testUnary look at a file or a text. Left out: -v and -R, which evaluate a subscript, -o, and -t.
	testUnary  = set("-b -c -d -e -f -g -h -k -L -n -p -r -s -S -u -w -x -z -O -G -N")
	testBinary = set("= == != -nt -ot -ef")
	// testNumbers are arithmetic: what is no number is evaluated.
	testNumbers = set("-eq -ne -lt -le -gt -ge")
)

// judgeTest accepts one plain question.
func judgeTest(args []word) string {
	for _, a := range args {
		if a.glob {
			return fmt.Sprintf("the shell expands %s before the test sees it; quote it", clip(a.text))
		}
	}
	if len(args) > 1 && args[0].text == "!" && !args[0].dyn {
		args = args[1:]
	}
	switch {
	case len(args) == 1:
		return ""
	case len(args) == 2 && testUnary[args[0].text]:
		return ""
	case len(args) == 3 && testBinary[args[1].text]:
		return ""
	case len(args) == 3 && testNumbers[args[1].text] && isDigits(args[0].text) && isDigits(args[2].text):
		return ""
	}
	return "this test is not on the list"
}

// judgeBracket is judgeTest for the name that ends with a bracket.
func judgeBracket(args []word) string {
	if len(args) == 0 || args[len(args)-1].text != "]" {
		return "the bracket is not closed"
	}
	return judgeTest(args[:len(args)-1])
}
