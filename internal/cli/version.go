package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version says which build this is: the module's version; the commit, its day and whether files were changed, if it was
// built from a checkout; the toolchain.
func version() string {
	v := release()
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision" && len(s.Value) >= 12:
				v += " " + s.Value[:12]
			case s.Key == "vcs.time" && len(s.Value) >= len("2006-01-02"):
				v += " " + s.Value[:len("2006-01-02")]
			case s.Key == "vcs.modified" && s.Value == "true":
				v += " modified"
			}
		}
	}
	return fmt.Sprintf("%s (%s, %s/%s)", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// versionJSON is the same for programs. There is nothing in it that a template would read.
func versionJSON() string {
	v, err := json.Marshal(map[string]any{
		"schema": eventSchema, "version": release(), "build": version(), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
	})
	if err != nil {
		return "null"
	}
	return string(v)
}

// release is the module's version; "devel" for a build that has none.
func release() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
