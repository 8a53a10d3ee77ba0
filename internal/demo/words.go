package demo

// words are everything the demo says, in one language.
type words struct {
	lang string

	ask, answer                   string
	begin, killed, again, same    string
	built, took, kept, real       string
	narration                     map[string]string
	think, look, lookAround       string
	question1, question2          string
	options1, options2            []string
	noAnswer, brief, goal         string
	plan, plan2                   string
	todo                          []string
	title1, title2, title3        string
	task1, task2, task3           string
	tryIt, check1, check2, readme string
	done1, done2, done3           string
	report1, report2              string
	achieved, notYet, broken      string
}

var english = &words{
	lang:   "en",
	ask:    "a small program that counts the words of a file",
	answer: "plain sh, nothing to install",
	begin: `This is flower's whole job in small. The model is a script on 127.0.0.1; the questions, the documents, the workers, their tools and the checks are real. The workspace:
%s`,
	killed: "KILLED: process %d got SIGKILL while its workers were at work. Nothing was cleaned up. On disk:",
	again:  "Starting it again in the same directory, without a word:",
	same:   "The sessions before (=) and since (+):",
	built:  "What was built, run once more:",
	took:   "That took %s and %d requests.",
	kept:   "Have a look: %s",
	real: `On a real endpoint:
  export ANTHROPIC_API_KEY=...          # or ANTHROPIC_AUTH_TOKEN, and ANTHROPIC_BASE_URL for a gateway
  cd your/project
  flower "what you want, in one sentence"
Stop it whenever you like; flower in the same directory goes on.`,
	narration: map[string]string{
		"clarifier":   "1/3 A clarifier looks at the directory and asks what it must know. The demo answers for you.",
		"goal setter": "2/3 The answers are frozen. They become a goal that can be checked here.",
		"coordinator": "3/3 A coordinator that cannot touch a file hands the work to workers.",
		"worker":      "Two workers work at the same time, each in a conversation of its own.",
		"judge":       "A judge that has seen nothing of the work runs the checks.",
	},
	think: "A small job. First see what is there.", look: "Let me see what is here.", lookAround: "Look around",
	question1: "What counts as a word?", options1: []string{"Anything between blanks", "Letters only"},
	question2: "Which language shall it be written in?", options2: []string{"sh", "Python", "Go"},
	noAnswer: "(assumed)",
	brief: `## Goal
A program that prints how many words a file has. A word is: %s.

## Acceptance criteria
- the number for a sample file is right
- a file that does not exist is refused with a clear message

## Boundaries
Written in: %s. No other options.

## Unknowns and assumptions
Files are UTF-8 text.
`,
	goal: "# Goal\n\n`count.sh` prints the number of words of a file and refuses a file that is not there.\n\n# Checklist\n\n" +
		"- `./count.sh sample.txt` prints 9\n- `./count.sh missing.txt` prints one line of error and exits with 2\n- README.md says how to call it\n",
	plan:   "Two parts that do not touch the same files: the program, and a sample with a README. Both can be done at once.",
	todo:   []string{"count.sh", "sample.txt and README.md", "refuse a missing file"},
	title1: "write count.sh", task1: "Write count.sh in the workspace: plain sh, prints the number of words of the file given as its first argument. Make it executable, try it on a text of your own, report.",
	title2: "sample and README", task2: "Write sample.txt (two lines, nine words) and README.md (how to call count.sh) in the workspace. Do not touch other files. Report.",
	title3: "refuse a missing file", task3: "count.sh in the workspace does not refuse a file that is not there. Let it print one line to standard error and exit with code 2 then. Try it with sample.txt and with missing.txt, report.",
	tryIt: "Try it", check1: "Count the sample", check2: "A file that is not there",
	readme:  "# count.sh\n\n    ./count.sh FILE\n\nprints the number of words of FILE. Exit code 2: there is no such file.\n",
	done1:   "count.sh is written and executable; on a text of three words it printed 3. Not tried: a missing file.",
	done2:   "sample.txt has nine words by wc; README.md shows the call.",
	done3:   "count.sh now refuses a missing file with one line and exit code 2; the sample still gives 9.",
	report1: "count.sh, sample.txt and README.md are there. A worker saw the right number on a text of its own.",
	plan2:   "The judge is right: a missing file was never handled. One worker mends that.",
	report2: "count.sh now refuses a missing file with exit code 2; the sample still gives 9. Both were run.",
	achieved: `## Conclusion
achieved

## Reason
count.sh printed 9 for the sample and exited with 2 for a missing file; README.md shows the call.

## Failed
`,
	notYet: "## Conclusion\nnot yet\n\n## Reason\nThe number for the sample is right, but a missing file does not lead to exit code 2.\n\n## Failed\n- `./count.sh missing.txt` prints one line of error and exits with 2\n",
	broken: "## Conclusion\nnot yet\n\n## Reason\nThe sample was not counted right.\n\n## Failed\n- `./count.sh sample.txt` prints 9\n",
}

var chinese = &words{
	lang:   "zh",
	ask:    "写个统计单词数的小程序",
	answer: "就用 sh,不装任何东西",
	begin: `这是 flower 整件工作的缩影。模型是 127.0.0.1 上的一段脚本;提问、文档、执行者、他们的工具和检查都是真的。工作区:
%s`,
	killed: "已杀掉:进程 %d 在执行者干活时收到 SIGKILL,什么都没来得及收拾。磁盘上有:",
	again:  "在同一个目录里再启动一次,什么都不说:",
	same:   "之前(=)和之后(+)的会话:",
	built:  "做出来的东西,再跑一遍:",
	took:   "用时 %s,共 %d 次请求。",
	kept:   "可以去看看:%s",
	real: `接到真正的服务上:
  export ANTHROPIC_API_KEY=...          # 或 ANTHROPIC_AUTH_TOKEN;用网关再加 ANTHROPIC_BASE_URL
  cd 你的项目
  flower "一句话说你想要什么"
随时可以停;在同一个目录里再敲 flower 就接着做。`,
	narration: map[string]string{
		"clarifier":   "1/3 澄清者看看目录,问清必须知道的事。演示替你回答。",
		"goal setter": "2/3 回答被冻结下来,变成一个在这里就能检查的目标。",
		"coordinator": "3/3 协调者自己碰不了任何文件,它把活派给执行者。",
		"worker":      "两个执行者同时干活,各在自己的对话里。",
		"judge":       "一个没看过任何过程的判定者来跑检查。",
	},
	think: "一件小活。先看看有什么。", look: "我先看看这里有什么。", lookAround: "看一看",
	question1: "什么算一个单词?", options1: []string{"空白之间的都算", "只算字母"},
	question2: "用什么语言写?", options2: []string{"sh", "Python", "Go"},
	noAnswer: "(假设)",
	brief: `## 目标
一个打印文件里有多少个单词的程序。单词的定义:%s。

## 验收标准
- 对样例文件给出正确的数
- 文件不存在时给出清楚的提示

## 边界
实现方式:%s。没有别的选项。

## 未知与假设
文件都是 UTF-8 文本。
`,
	goal: "# 目标\n\n`count.sh` 打印一个文件的单词数,文件不存在时拒绝。\n\n# 判定清单\n\n" +
		"- `./count.sh sample.txt` 打印 9\n- `./count.sh missing.txt` 打印一行错误,退出码为 2\n- README.md 写明怎么调用\n",
	plan:   "两块活互不碰同一批文件:程序,以及样例和 README。可以同时做。",
	todo:   []string{"count.sh", "sample.txt 和 README.md", "文件不存在时拒绝"},
	title1: "写 count.sh", task1: "在工作区写 count.sh:纯 sh,打印第一个参数所指文件的单词数。加上可执行权限,用你自己的一段文字试一下,然后报告。",
	title2: "样例和 README", task2: "在工作区写 sample.txt(两行,九个单词)和 README.md(怎么调用 count.sh)。别的文件不要碰。然后报告。",
	title3: "文件不存在时拒绝", task3: "工作区里的 count.sh 在文件不存在时没有拒绝。让它这时向标准错误打印一行并以退出码 2 结束。用 sample.txt 和 missing.txt 各试一次,然后报告。",
	tryIt: "试一下", check1: "数一数样例", check2: "不存在的文件",
	readme:  "# count.sh\n\n    ./count.sh 文件\n\n打印文件的单词数。退出码 2:没有这个文件。\n",
	done1:   "count.sh 写好了,可执行;对三个单词的文字打印 3。没有试过不存在的文件。",
	done2:   "sample.txt 按 wc 是九个单词;README.md 写了调用方法。",
	done3:   "count.sh 现在会拒绝不存在的文件:一行错误,退出码 2;样例仍是 9。",
	report1: "count.sh、sample.txt、README.md 都在了。执行者用自己的文字看到了正确的数。",
	plan2:   "判定者说得对:一直没处理文件不存在的情况。派一个执行者补上。",
	report2: "count.sh 现在以退出码 2 拒绝不存在的文件;样例仍是 9。两样都跑过。",
	achieved: `## 结论
达成

## 理由
count.sh 对样例打印 9,对不存在的文件以 2 退出;README.md 写了调用方法。

## 未通过
`,
	notYet: "## 结论\n未达成\n\n## 理由\n样例的数是对的,但文件不存在时退出码不是 2。\n\n## 未通过\n- `./count.sh missing.txt` 打印一行错误,退出码为 2\n",
	broken: "## 结论\n未达成\n\n## 理由\n样例没有数对。\n\n## 未通过\n- `./count.sh sample.txt` 打印 9\n",
}

// spoken are the words of each language; there are English ones for any other.
var spoken = map[string]*words{
	english.lang: english, chinese.lang: chinese, japanese.lang: japanese, french.lang: french, german.lang: german, spanish.lang: spanish,
}
