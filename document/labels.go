package document

import "strings"

// The sections of the four documents.
const (
	keyGoal       = "goal"
	keyAccept     = "accept"
	keyBounds     = "bounds"
	keyUnknowns   = "unknowns"
	keyStatement  = "statement"
	keyChecks     = "checks"
	keyConclusion = "conclusion"
	keyReason     = "reason"
	keyFailed     = "failed"
	keyDoing      = "doing"
	keyDecided    = "decided"
	keyDeadEnds   = "deadends"
	keyNext       = "next"
	keyScene      = "scene"
)

// dialect is what the splitter must know about one document.
type dialect struct {
	labels map[string]string // folded heading → section
	level  int               // number of # of a section heading on disk
	opens  func(line string) bool
}

// table builds a dialect's labels from one line a section:
// "key = name | name | …", all languages together.
func table(lines string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(lines) {
		key, names, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		for name := range strings.SplitSeq(names, "|") {
			m[fold(strings.TrimSpace(name))] = strings.TrimSpace(key)
		}
	}
	return m
}

var briefDialect = &dialect{level: 2, opens: isAddition, labels: table(`
goal = 目标 | Goal | Goals | Objective | 目標 | Objectif | Objectifs | Ziel | Ziele | Objetivo | Objetivos
accept = 验收标准 | 验收条件 | 验收 | Acceptance criteria | Acceptance | 受け入れ基準 | 受入基準 | 受入れ基準 | Critères d'acceptation | Abnahmekriterien | Akzeptanzkriterien | Criterios de aceptación
bounds = 边界 | 范围边界 | 不做什么 | Boundaries | Boundary | Out of scope | 境界 | Limites | Grenzen | Límites
unknowns = 未知与假设 | 未知和假设 | 未知项与假设 | 未知项 | 已知未知 | 未知 | 假设 | Unknowns and assumptions | Unknowns & assumptions | Unknowns | Assumptions | 不明点と前提 | 不明点 | Inconnues et hypothèses | Unbekanntes und Annahmen | Incógnitas y supuestos
`)}

var goalDialect = &dialect{level: 1, opens: isAmendment, labels: table(`
statement = 目标 | 完成标志 | Goal | Statement | 目標 | Objectif | Ziel | Objetivo
checks = 判定清单 | 判定条件 | 验收清单 | 检查项 | 判定 | Checklist | Checks | 判定リスト | Liste de contrôle | Prüfliste | Lista de comprobación
`)}

var verdictDialect = &dialect{level: 2, labels: table(`
conclusion = 结论 | 判定 | 最终结论 | Conclusion | Verdict | Final verdict | 結論 | 最終結論 | Ergebnis | Conclusión
reason = 理由 | 依据 | Reason | Reasons | Raison | Raisons | Begründung | Motivo | Motivos
failed = 未通过 | Failed | 不合格 | Échecs | Échec | Nicht bestanden | No superado | No superados
`)}

var handoffDialect = &dialect{level: 2, labels: table(`
doing = 现在在做什么 | 现在在做 | 当前进度 | 进度 | Doing now | 今やっていること | En cours | Aktueller Stand | En curso
decided = 已经定下的 | 已定的事 | 决策 | Decided | 決定事項 | Décidé | Entschieden | Decidido
deadends = 走不通的路 | 试过不行的 | 排除的路 | Dead ends | Dead-ends | 行き止まり | Impasses | Sackgassen | Callejones sin salida
next = 下一步 | Next step | Next steps | 次の一歩 | Prochaine étape | Nächster Schritt | Siguiente paso
scene = 现场 | 文件 | Scene | 現場 | État des lieux | Lage | Escena
`)}

// section finds the section a heading's words name, "" when they name none.
// A heading may give the same name in two languages: "目标 (Goal)", "Goal / 目标".
func (d *dialect) section(words string) string {
	name := strings.TrimSpace(fold(words))
	if key, ok := d.labels[name]; ok {
		return key
	}
	for _, sep := range []string{"(", "/"} {
		a, b, ok := strings.Cut(name, sep)
		if !ok {
			continue
		}
		if sep == "(" {
			if b, ok = strings.CutSuffix(b, ")"); !ok {
				continue
			}
		}
		key := d.labels[strings.TrimSpace(a)]
		if key != "" && key == d.labels[strings.TrimSpace(b)] {
			return key
		}
	}
	return ""
}

// Placeholders: what stands where nothing was filled in. Words of
// bracketedBlanks count in brackets only, as they may be an answer without.
var (
	blanks = wordSet(`未填 | 待定 | 待填 | 待填写 | 待补充 | 请填写 | 未填写 | todo | tbd | tba | fixme | 未記入 | 記入なし
| not filled in | to be filled in | unfilled | à remplir | à compléter | non rempli | nicht ausgefüllt | por completar | sin rellenar`)
	bracketedBlanks = wordSet(`空 | 暂无 | 略 | 未定 | 在此填写 | empty | blank | pending | none yet | nothing yet | vide | leer | vacío | pendiente | offen | まだない`)
	// nothings are an answer where "none" can be one (boundaries, unknowns),
	// and no answer where something must be named (goal, next step).
	nothings = wordSet(`无 | 没有 | none | nothing | n/a | na | nil | なし | 特になし | ありません | aucun | aucune | rien | keine | keiner | keines | nichts
| ninguno | ninguna | nada`)
)

func wordSet(list string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.SplitSeq(list, "|") {
		m[fold(strings.TrimSpace(w))] = true
	}
	return m
}
