package proc

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestProcessLimit(t *testing.T) {
	var ours unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &ours); err != nil {
		t.Fatal(err)
	}
	const manyMore = 1000 // processes that others may start or end meanwhile
	now, ok := tasks()
	if !ok || now == 0 {
		t.Fatal("the tasks of this system are not counted")
	}
	if ours.Cur < now+ProcessRoom+manyMore {
		t.Skipf("there is a lower limit already: %d", ours.Cur)
	}
	res := run(t, Command{Script: "ulimit -Su; ulimit -Hu; ulimit -Su unlimited 2>/dev/null || ulimit -Su $(ulimit -Hu); ulimit -Su"})
	lines := strings.Fields(res.Output)
	if len(lines) != 3 {
		t.Fatalf("got %q", res.Output)
	}
	soft, err := strconv.ParseUint(lines[0], 10, 64)
	if err != nil || soft < ProcessRoom || soft > now+ProcessRoom+manyMore {
		t.Errorf("a command has a limit of %d, %v; there are %d tasks", soft, err, now)
	}
	if lines[1] != lines[2] {
		t.Errorf("a command cannot lift its limit: %q", res.Output)
	}
	var after unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &after); err != nil || after != ours {
		t.Errorf("ours was %v and is %v, %v", ours, after, err)
	}
}

const bombName = "FLOWER_TEST_BOMB"

// TestHelperBomb is no test: it is a flower, of a user with no rights, that runs a fork bomb and says how that ended.
func TestHelperBomb(t *testing.T) {
	mark, ok := os.LookupEnv(bombName)
	if !ok {
		t.Skip("only TestForkBomb starts it")
	}
	// The bomb of every textbook, with a lower limit so that this does not take a machine's memory. It fills it at once.
	script := fmt.Sprintf("ulimit -Su $(($(ulimit -Su) - %d)); bomb() { bomb | bomb & }; bomb; sleep 600", ProcessRoom-200)
	res := run(t, Command{Script: script, Timeout: 2 * time.Second, Env: append([]string{bombName + "=" + mark}, env...), KeepHead: 500, KeepTail: 500})
	if err := json.NewEncoder(os.Stdout).Encode(res); err != nil {
		t.Fatal(err)
	}
	os.Exit(0)
}

// A true fork bomb hits its limit, ends with its time, and leaves nothing.
func TestForkBomb(t *testing.T) {
	mark := filepath.Base(t.TempDir()) + strconv.Itoa(os.Getpid())
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestHelperBomb$")
	cmd.Env = append([]string{bombName + "=" + mark}, env...)
	cmd.Dir = "/"
	if os.Geteuid() == 0 { // no limit is imposed on root
		const nobody = 65534
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var res Result
	if err := json.Unmarshal(out, &res); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !res.TimedOut || len(res.Background) > 0 || !strings.Contains(res.Output, "fork: ") {
		t.Errorf("got %+v", res)
	}
	for _, pid := range allPIDs() {
		if environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err == nil && strings.Contains(string(environ), mark) && alive(pid) {
			t.Errorf("%d is alive", pid)
		}
	}
}
