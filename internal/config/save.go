package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"flower/internal/disk"
)

// Answers are the settings a person has given, to be kept by [Save]. What is "" is taken out of the file.
type Answers struct {
	APIKey, AuthToken string // one of them
	BaseURL           string
	Model             string
	Window            string // tokens
}

func (a Answers) values() map[string]string {
	return map[string]string{
		envAPIKey: a.APIKey, envAuthToken: a.AuthToken, envBaseURL: a.BaseURL, envModel: a.Model, envWindow: a.Window,
	}
}

// Check says what cannot be used of the answers: a [ValueError] of the first such value, without a Source.
func (a Answers) Check() error {
	one := []source{{values: a.values()}}
	var c Config
	if err := c.loadCredentials(one); err != nil {
		return err
	}
	if _, err := loadBaseURL(one); err != nil {
		return err
	}
	if _, err := loadModel(one); err != nil {
		return err
	}
	_, err := loadWindow(one)
	return err
}

// Origins lists the answers as [Config.Origins] does the settings, without a Source.
func (a Answers) Origins() []Origin {
	var all []Origin
	for name, value := range a.values() {
		if name == envAPIKey || name == envAuthToken {
			value = Masked(value)
		}
		if value != "" {
			all = append(all, Origin{Name: name, Value: value})
		}
	}
	return all
}

// UserFile is the path of flower's .env in the person's configuration directory; "" when the environment does not say
// where that is.
func UserFile(environ []string) string { return userFile(fromEnviron(environ), ".env") }

// Save writes answers into a .env file, atomically, readable by nobody else. Every other line of it stays. Errors:
// those of [Answers.Check], [FileError] for a file that is there and cannot be understood or written.
func Save(path string, answers Answers) error {
	if err := answers.Check(); err != nil {
		return err
	}
	old, err := disk.ReadRegular(path, maxFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &FileError{Path: path, Why: Unreadable, Err: err}
	}
	data, bad := edit(old, answers.values())
	if bad != nil {
		return &FileError{Path: path, Line: bad.line, Why: bad.why}
	}
	denied := func(err error) error {
		return &FileError{Path: path, Why: Unwritable, Err: err}
	}
	if err := disk.PrivateDir(filepath.Dir(path)); err != nil {
		return denied(err)
	}
	if old != nil {
		// Before the key is in it: a file keeps its mode when it is replaced.
		if err := os.Chmod(path, 0o600); err != nil {
			return denied(err)
		}
	}
	if err := disk.WriteFile(path, data, 0o600); err != nil {
		return denied(err)
	}
	return nil
}

// assignment is a line that sets a variable.
var assignment = regexp.MustCompile(`^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.]*)\s*[=:]`)

// edit sets variables in the content of a .env file and takes out those whose value is "". Of a variable that is there
// the first line is replaced, all others go. The result is read again: if it did not say what it should, or another
// variable had changed (a value over several lines can hold what looks like a line), the file is left to the person.
func edit(old []byte, values map[string]string) ([]byte, *fault) {
	before, bad := parseDotenv(old)
	if bad != nil {
		return nil, bad
	}
	odd := &fault{why: Unchangeable}
	set := map[string]bool{}
	var out strings.Builder
	for line := range strings.Lines(strings.TrimPrefix(string(old), "\uFEFF")) {
		name := ""
		if m := assignment.FindStringSubmatch(line); m != nil {
			name = m[1]
		}
		value, ours := values[name]
		switch {
		case !ours:
			out.WriteString(strings.TrimSuffix(line, "\n") + "\n")
		case value != "" && !set[name]:
			set[name] = true
			out.WriteString(name + "=" + quoted(value) + "\n")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if values[name] != "" && !set[name] {
			out.WriteString(name + "=" + quoted(values[name]) + "\n")
		}
	}
	after, bad := parseDotenv([]byte(out.String()))
	if bad != nil {
		return nil, odd
	}
	for name, value := range values {
		if delete(before, name); value != "" {
			before[name] = value
		}
	}
	if !maps.Equal(before, after) {
		return nil, odd
	}
	return []byte(out.String()), nil
}

// plainValue needs no quotes.
var plainValue = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,~-]+$`)

// quoted writes a value so that it is read as it is. A single quote cannot be written between single quotes, nor a
// backslash at the end.
func quoted(value string) string {
	switch {
	case plainValue.MatchString(value):
		return value
	case !strings.Contains(value, "'") && !strings.HasSuffix(value, `\`):
		return "'" + value + "'"
	}
	return fmt.Sprintf(`"%s"`, strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`).Replace(value))
}
