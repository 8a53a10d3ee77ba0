// Package failpoint marks the instants at which a kill is most telling: before, inside and after every write that must
// survive one. In the usual program it does nothing and costs nothing; with the build tag failpoints a process ends
// itself with SIGKILL at the instant that its environment names.
//
// Terms: a point is a place in the code with a name, "append.after"; the same name may stand in several places. A hit is
// one passage through a point.
//
// Trust: whoever sets the environment of a process built with the tag may as well kill it.
//
// At is safe for concurrent use.
package failpoint

// The environment of a process that is built with the tag.
const (
	// Env holds "name:n": the process dies at the nth hit of the point name, together with its process group if it leads
	// one. Anything else is never reached.
	Env = "FLOWER_FAILPOINT"
	// EnvLog holds the path of a file to which the name of every hit is added, a line each.
	EnvLog = "FLOWER_FAILPOINT_LOG"
)
