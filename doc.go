// Package flower runs long jobs for AI agents that survive their process: the same directory continues the same
// conversations.
//
// Terms. A run is one process working through a Workflow. A step is one unit of it: an agent, a prompt, a gate; its
// name is the key that stays stable across processes. A session is one conversation with the model, named by an id. A
// wake is a run in a directory that has been worked in before. Lineage maps step names to session ids across
// processes. The run directory holds lineage.json, manifest.json and the store; the workbench (.flower/ in the
// workspace) holds the documents that models write and flower freezes.
//
// How it fits together. Workflow.Run walks the steps and keeps the books; Runtime runs one agent for one step, with
// everything that belongs to an attempt; an Engine (package agent) runs the turns; a Store (package sqlite, or in memory)
// keeps the sessions; Human is the person's side: questions out, answers and remarks in. What happens is reported to one
// observer as Events; nothing here prints, reads flags or the environment.
//
// Continuity is a bonus: when the books do not fit (a copied directory, a deleted store, a torn file) they count as
// absent, which is said and never ends a run.
package flower
