package document

import (
	"sort"
	"strings"
	"sync"
	"unicode/utf8"
)

// class says what a word can mean in a conclusion; a word may have several.
type class uint32

const (
	achieved   class = 1 << iota // "achieved": a finished success
	achieving                    // the same verb in another form, or a weaker one
	negation                     // binds to what follows
	concord                      // a negation that adds nothing to another one
	postfix                      // a negation that binds to what stands before
	fault                        // something bad
	partial                      // a part, nearly
	reserve                      // takes something back, puts a condition, reports
	impossible                   // cannot
	hopeless                     // unreachable by itself
	able                         // can, may: impossible when negated
	verify                       // to check, to know; after "cannot" never a verdict
	notYet                       // "not yet" by itself
	filler                       // says nothing more when it stands by achieved
	whole                        // all, every
	item                         // check, point: needs whole
	number                       // needs whole and may not stand alone
	suffix                       // may follow achieved
	good                         // supports achieved: passes, works, verified
	past                         // at the front: speaks of an earlier round
	still                        // not past after all
	conj                         // and: begins a new clause
	noneWord                     // "none", as an answer
	aux                          // begins a question when it stands first
	alt                          // or: offers a choice
	between                      // may stand between a negation and a fault
	repair                       // fixed, solved: a negation before it is bad news
	portion                      // a figure below the whole
	neutral                      // none of the above though it looks like one
)

// vocabulary lists the words by class, all languages together. "*" at the end
// stands for any ending. Words are folded, so accents and traditional forms do
// not matter. Only what is listed under achieved can ever make a verdict pass.
var vocabulary = map[class]string{
	achieved: `达成 | achieved | accomplished | reached | fulfilled | met | attained
| atteint | atteinte | atteints | atteintes | accompli | accomplie | erreicht | erfüllt | cumplido | cumplida | cumplidos | cumplidas | alcanzado | alcanzada | logrado | lograda`,
	achieved | negation: `达成できませんでした | 达成できなかった | 达成できていない | 达成できていません | unachieved | unmet | unfulfilled | unerreicht | unerfüllt | incumplido | incumplida | inachevé | inaccompli`,
	achieving: `achiev* | accomplish* | fulfil* | attain* | reach | reaching | reaches | reachable | atteindre | atteign* | accomplir | erreichen | erreichbar* | erfüllen | erfüllbar
| cumpl* | alcanz* | lograr | logra | completed | complete | completely done | done | finished | ready | passed | pass | passes | passing | succeed* | success* | works | work | working
| 完成 | 通过 | 做完 | 做好 | 满足 | 达到 | 达标 | 成功 | 合格 | 完了 | クリア | terminé* | réussi* | fini | finie | fertig | bestanden | bestehen | abgeschlossen | terminado | terminada | superado | superada | completado | completada`,
	negation: `not | no | never | without | neither | nein | いいえ | 否 | none of | none | nothing | nobody | nowhere | zero | 0 | isnt | cannot be said | non | no longer
| 没有 | 没 | 未 | 不 | 无 | 非 | 零 | 毫无 | 尚未 | 从未 | 并未 | 并非 | 未能 | 没能 | 不再 | 不存在 | 未见 | 未发现 | 无一
| nicht | kein | keine | keinen | keiner | keinem | keines | nie | niemals | ohne | null | nichts | nirgends
| sans | sin | cero | not yet | pas encore | noch nicht | aún no | todavía no | 还没 | 还没有 | 还未 | 尚无`,
	negation | concord: `ne | n | pas | aucun | aucune | jamais | rien | guère | point de | nullement | ningún | ninguno | ninguna | nada | nunca | tampoco | nor | noch | ni`,
	concord:            `plus`,
	postfix:            `ない | ありません | ありませんでした | ではない | なし | なく | 無く | 無し | なかった | ません | ませんでした | せず | ならず | できず | 至らず | 至っていない | ていない | ておらず | されていない | していない | できていない | できなかった | いません | ゼロ | 0 | 零 | zero | zéro | null | cero`,
	fault: `fail* | issue* | problem* | error* | bug | bugs | defect* | missing | broken | break* | crash* | wrong | incorrect | incomplete | unfinished | open | outstanding | remaining | remain* | left | lacking | lack* | gap | gaps | regression* | exception* | warning* | objection* | deviation* | untested | stub | placeholder | unsolved | unresolved | pending | findings | concerns | violation* | mismatch* | red
| skip* | skipped | mock* | fake* | hardcoded | hard coded | forged | 跳过 | 写死 | 造假 | 伪造 | 假的 | übersprungen* | omitid* | timeout* | timed out | hang | hangs | differ* | contradict* | conflict* | worse | stuck | flaky | unstable | crash* | caveat* | reservation* | fehl | 保留 | 疑问 | 疑义 | 分歧 | 不同 | 相反 | 矛盾 | 冲突 | 超时 | 卡住 | 有误 | 偏差 | 出入 | 倒退 | 退步 | 失败 | 问题 | 错误 | 报错 | 出错 | 遗漏 | 遗留 | 缺 | 缺陷 | 缺失 | 缺口 | 例外 | 异常 | 崩溃 | 差异 | 警告 | 漏 | 不符 | 欠 | 坏 | 破损 | 断链
| 漏れ | 不備 | 不足 | 欠落 | エラー | バグ | 課題 | 残り | 残件 | 抜け | 不具合
| échec* | échou* | problème* | erreur* | défaut* | manque* | manquant* | restant* | ouvert* | exception* | en suspens | anomalie* | panne*
| fehler* | fehlgeschlagen* | fehlschl* | fehlt* | fehlend* | mangel | mängel | offen* | übrig | ausstehend* | ausnahme* | verfehlt | kaputt | beanstandung* | auffälligkeit*
| fallo | fallos | falla* | fallan | falta* | faltan | pendiente* | roto | rota | excepci* | incompleto | incompleta`,
	partial: `partly | partial* | in part | part of | parts of | mostly | mainly | nearly | almost | largely | half | halfway | half way | most | some | to some extent | more or less | for the most part | somewhat | roughly | basically | essentially | close to | practically | virtually | as good as
| 部分 | 一部分 | 大部分 | 大半 | 一半 | 基本 | 大体 | 大致 | 几乎 | 接近 | 差不多 | 多数 | 半 | 局部 | 主要 | 个别 | 将近 | 仅 | 只 | 快要
| 部分的 | 一部 | ほぼ | 概ね | おおむね | だいたい | ほとんど | 大部分 | 半分 | 途中 | 近い
| partiel* | en partie | presque | à moitié | la plupart | en grande partie | quasi* | quasiment | essentiellement | globalement
| teilweise | teils | zum teil | fast | beinahe | nahezu | größtenteils | weitgehend | überwiegend | halb | halbwegs | zur hälfte | im wesentlichen | im großen und ganzen | bedingt | annähernd
| parcial* | en parte | casi | a medias | la mayor parte | mayormente | prácticamente | en gran parte | a la mitad`,
	reserve: `but | at least | at best | as far as | insofar | in so far | to the best | limited to | in my view | for now | however | except | although | though | unless | until | once | if | provided | providing | assuming | assumed | pending | should | would | could | might | may | maybe | perhaps | probably | likely | possibly | seem* | appear* | look* | apparently | supposedly | alleged* | claim* | said | says | think | believe | guess | hope* | expect* | will | yet | needs | need | must | only | just | apart | aside | besides | other than | still | awaiting | wait* | to be | tbd | so far | unclear | unsure | uncertain | unknown | doubt* | despite | in spite | whether | when | while | nevertheless | subject to | in theory | theoretically | on paper | first | next | later | soon | instead | todo | choose | options | going to | would be | far from | short of | not sure | ¿
| 至少 | 范围内 | 就我 | 限于 | 目前 | 暂且 | 至多 | 但 | 但是 | 不过 | 然而 | 除 | 除了 | 除非 | 只差 | 还差 | 还需 | 尚需 | 仍 | 仍需 | 待 | 有待 | 等待 | 可能 | 应该 | 应当 | 大概 | 或许 | 也许 | 似乎 | 看起来 | 看来 | 看似 | 好像 | 估计 | 预计 | 理论上 | 如果 | 若 | 假如 | 假设 | 一旦 | 只要 | 前提 | 只有 | 需要 | 需 | 必须 | 建议 | 之后 | 以后 | 才 | 即将 | 将 | 距离 | 离达成 | 离目标 | 离完成 | 声称 | 自称 | 号称 | 据说 | 说 | 尽管 | 虽 | 虽然 | 是否 | 可惜 | 如有 | 如需 | 若有 | 只是 | 就算 | 视情况 | 存疑 | 怀疑 | 不确定 | 不明 | 不明确 | 不清楚 | 不详 | 不好说 | 难说 | 分からない | わからない | 剩 | 其余 | 另 | 另外 | 再 | 下一轮 | 后续 | 以外 | 之外 | 暂
| しかし | 少なくとも | 現時点 | 限り | ただし | ただ | だが | ですが | けれど | 除き | 除いて | 除く | 以外 | もし | れば | たら | なら | かもしれ | だろう | でしょう | はず | と思 | ようだ | ようです | らしい | 必要 | 予定 | 見込み | まだ | 残って | 残る  | のみ | だけ | べき | 待ち | 次第 | 条件付き
| mais | au moins | du moins | pour l instant | cependant | toutefois | sauf | excepté | hormis | si | à condition | pourvu | peut être | probablement | semble* | paraît | devrait | serait | pourrait | sous réserve | encore | reste* | doit | faut | quand | lorsque | seulement | uniquement | selon | dit | prétend* | bientôt | théori* | néanmoins | une fois | lors | malgré
| aber | zumindest | wenigstens | soweit | vorerst | insoweit | jedoch | allerdings | außer | bis auf | sofern | falls | wenn | vorausgesetzt | vermutlich | wahrscheinlich | vielleicht | scheint | scheinbar | anscheinend | sollte | würde | könnte | dürfte | wäre | muss | müssen | sobald | nur | lediglich | unter vorbehalt | vorbehaltlich | angeblich | sagt | laut | noch | theoretisch | erst | wird | unklar | ungewiss | demnächst | sonst | obwohl | trotz
| pero | al menos | por lo menos | por ahora | hasta donde | sin embargo | excepto | salvo | menos | aunque | siempre que | si | quizá | quizás | tal vez | probablemente | posiblemente | parece* | debería | sería | podría | falta por | cuando | solo | sólo | solamente | únicamente | según | dice* | aún | todavía | pendiente de | teóric* | a condición | una vez | hay que | a pesar | supuestamente
| ❌ | ✗ | ✘ | ⛔ | 🚫 | ⚠ | ❓ | ❎ | ☐`,
	impossible: `cannot | can not | unable | impossible | infeasible | not possible | no way | not feasible
| 无法 | 不能 | 没法 | 没办法 | 没有办法 | 不可能 | 难以 | 不可 | 无从 | 不可行 | 不能够 | 无力
| 不可能 | 不能 | できない | できません | 不可 | unmöglich | imposible | irréalisable`,
	hopeless: `unreachable | unachievable | unattainable | not achievable | not reachable | not attainable | infeasible
| 做不到 | 达不成 | 达成不了 | 不可达成 | 办不到 | 达不到 | 到达不可能 | 达成不可能 | 达成不能 | 达成できない | 达成できません | 达成は不可能 | 达成不可
| inatteignable* | inaccessible* | hors d'atteinte | unerreichbar* | nicht erreichbar | nicht machbar | inalcanzable* | irrealizable*`,
	able: `can | peut | peuvent | kann | können | puede | pueden | possible | möglich | posible | machbar`,
	verify: `verif* | check* | confirm* | determin* | judge* | tell | say | know | assess* | decide* | evaluat* | test | tested | prove* | observ* | establish* | run | inspect* | rule out
| 验证 | 检查 | 确认 | 判断 | 判定 | 确定 | 核实 | 核对 | 测试 | 证明 | 得知 | 评估 | 证实 | 查证 | 实测
| 検証 | 确认 | 判断 | 评価 | 测定 | テスト | vérif* | confirm* | juger | dire | savoir | contrôl* | test* | évaluer | tester
| prüf* | überprüf* | geprüft | überprüft | verifizier* | bestätig* | beurteil* | sagen | feststell* | testen | getestet
| verific* | comprob* | confirmar* | juzgar | decir | saber | probar | evaluar`,
	notYet: `not yet | pas encore | noch nicht | aún no | todavía no | 还没 | 还没有 | 尚未 | 尚无 | 还未 | まだ | まだです`,
	filler: `the goal | the | this | goal | goals | objective | task | has | have | been | is | are | was | were | now | yes | it | we | verdict | conclusion | result | status | final | overall verdict | overall result | overall conclusion | round | fully | completely | entirely | totally | wholly | successfully | criteria | requirements | conditions | checks | acceptance | in full | of the | final verdict
| 已 | 已经 | 目标 | 完全 | 完整 | 彻底 | 均 | 都 | 皆 | 本轮 | 这一轮 | 这轮 | 此轮 | 本 | 该 | 此 | 现 | 现已 | 现在 | 当前 | 结论 | 判定 | 判定为 | 认定 | 结果 | 状态 | 最终 | 总体结论 | 是 | 为 | 确认 | 确实 | 顺利 | 成功 | 验收标准 | 验收条件 | 判定清单 | 验收清单 | 清单 | 了 | 可以判定 | 且
| は | が | を | も | 完全に | 既に | すでに | 今回 | に | 全て达成 | 目標
| l | le | la | les | objectif | objectifs | est | sont | a | ont | été | bien | entièrement | pleinement | complètement | totalement | critères | c | verdict
| das | ziel | ziele | die | der | ist | wurde | wurden | sind | vollständig | voll | ganz | kriterien | somit | damit | nun | jetzt | erfolgreich
| el | objetivo | objetivos | está | están | ha | sido | han | fue | se | los | las | completamente | totalmente | plenamente | criterios | meta | ya`,
	alt:     `or | either | ou | oder | o | u | 或 | 或者 | 还是 | または | あるいは`,
	repair:  `fix* | resolv* | solv* | address* | repair* | 修复 | 解决 | 修正 | 处理 | 改好 | 解決 | 対応 | 修好 | corrig* | résol* | résou* | behoben | beheben | gelöst | resuel* | resolv* | arregl* | corregid*`,
	neutral: `不存在时 | 不存在的文件 | 输入不存在 | nonexistent | non existent | missing file | a missing file | the list says | what the list says | 非常 | 不仅 | 不但 | 无论 | 未来 | 刚才 | 说明 | 不断`,
	between: `数 | 什么 | もう | 一つも | 何も | 一切 | i | we | see | prüfung | prüfungen | contrôle | contrôles | comprobación | comprobaciones | any | a | an | single | known | further | other | new | more | kind of | one | test | tests | command | commands | line | lines | case | cases | step | steps | file | files | reported | existing | critical | major | serious | blocking | show | shows | longer | anything | in | on
| 任何 | 其他 | 其它 | 新的 | 发现 | 出现 | 有 | 一条 | 一项 | 一个 | 哪一条 | 的 | 命令 | 测试 | 用例 | 明显 | 严重 | 检查 | 可见
| 重大な | な | 未 | d | de | du | des | autre | autres | weiteren | weitere | weiterer | mehr | einzige | einziger | otro | otros | más | hay | y a | gibt | gibt es | es | bekannten | test | tests`,
	portion: `portionfigure`,
	aux:     `is | are | has | have | was | were | est | ist | ha | está | sind | sont`,
	whole:   `wholefigure | all | every | everything | each | 全部 | 所有 | 全 | 每项 | 每条 | 每一项 | 每一条 | 各项 | 逐条 | 逐项 | 一切 | すべて | 全て | 全項目 | 全部 | 全件 | 全条件 | tous | toutes | tout | alle | alles | sämtliche | todos | todas | todo`,
	item:    `check | item | items | criterion | condition | requirement | checklist | points | 检查 | 检查项 | 检查点 | 项 | 条 | 条件 | 标准 | 验收 | 条目 | 项目 | 要求 | 基准 | チェック | の | points | vérifications | conditions | punkt | punkte | prüfpunkte | bedingungen | puntos | condiciones | comprobaciones | de la lista | der liste | of the list`,
	number:  `一 | 二 | 两 | 三 | 四 | 五 | 六 | 七 | 八 | 九 | 十 | two | three | four | five | six | seven | eight | nine | ten | deux | trois | quatre | cinq | six | zwei | drei | vier | fünf | sechs | dos | tres | cuatro | cinco | seis | つ`,
	suffix: `wholefigure | 了 | 目标 | 全部 | 所有 | 状态 | した | しました | している | しています | されている | されています | された | されました | できた | できました | できている | できています | 済み | 済 | です | だ | である | とする | とします | と判断 | と判断する | と判断します | と判定 | と判定する | と判定します
| fully | completely | the goal | all | in full | now | successfully | worden | tous | 。`,
	good: `无需再改 | 无需再做 | 无需修改 | 不需要修改 | 不用再改 | 不需要下一轮 | 无需下一轮 | 不需要再做 | no further round needed | pass | passes | passed | passing | ok | okay | works | verified | confirmed | checked | ran | run | green | succeed* | success* | match* | correct* | fine | clean | complete | reproduced | tested | present
| 通过 | 跑过 | 跑了 | 跑通 | 一致 | 核对 | 检查 | 验证 | 确认 | 成功 | 正常 | 符合 | 齐全 | 满足 | 复核 | 实测 | 看过 | 对得上
| 通过した | 合格 | 实行 | 確認 | 正常 | 検証
| passe* | passent | réussi* | conforme* | vérifi* | confirm* | fonctionne* | bestanden | geprüft | überprüft | läuft | laufen | bestätigt | stimmt | stimmen | grün | funktioniert* | pasa | pasan | pasó | correct* | comprobad* | verificad* | confirmad* | funciona*`,
	past: `last round | in the last round | the last round | previously | previous | the previous | in the previous | earlier | last time | before this | my last | in round one | in the first round | formerly
| 上一轮 | 上轮 | 上次 | 上一次 | 此前 | 之前 | 前一轮 | 先前 | 首轮 | 第一轮 | 原先 | 前几轮 | 我上一轮 | 我之前
| 前回 | 前のラウンド | 以前 | précédent* | précédemment | au tour précédent | la dernière fois | auparavant | avant | le tour précédent | vorherig* | vorher | zuvor | letzte runde | in der letzten runde | letztes mal | früher | anterior* | la ronda anterior | en la ronda anterior | la última vez | antes`,
	still:    `still | remain* | unchanged | same | again | persist* | 仍 | 还 | 依然 | 依旧 | 照样 | 同样 | 又 | 再次 | 残 | まだ | 依然として | toujours | encore | noch | immer | weiterhin | erneut | todavía | aún | sigue* | de nuevo`,
	conj:     `because | since | reason | 因为 | 由于 | 理由 | 依据 | raison | car | parce que | weil | denn | begründung | porque | motivo | なぜなら | and | 并且 | 而且 | 且 | 同时 | 以及 | et | und | y | e | そして | かつ | so | thus | therefore | hence | 所以 | 因此 | 故 | donc | also | por tanto | por lo tanto | daher`,
	noneWord: `none | nothing | nil | n/a | n a | na | no | zero | 0 | empty | not applicable | 无 | 没有 | 空 | 零 | 暂无 | 均无 | 皆无 | なし | 無し | ありません | ない | 特になし | ゼロ | aucun | aucune | rien | néant | vide | sans objet | keine | keiner | keines | kein | nichts | leer | entfällt | ninguno | ninguna | ningún | nada | vacío | no hay`,
}

// noneFiller may stand by a none-word when a list of failed checks is said to
// be empty: "no failed checks", "没有未通过的项".
var noneFiller = wordSet(`failed | failures | failure | failing | fails | checks | check | items | item | are | is | there | were | was | of | them | the | to report | found | all | this | time | for
| 未通过 | 不通过 | 未达成 | 不合格 | 失败 | 的 | 项 | 项目 | 条目 | 检查 | 检查项 | 条 | 任何 | 清单 | 是 | 了 | 内容 | 本轮 | は | です | も | 点
| échec | échecs | point | points | il | n | y | a | pas | d | nicht | bestanden | bestandene | punkte | prüfpunkte | fehlgeschlagen | es | gibt | hay | superado | superados | no | puntos | fallos`)

type entry struct {
	text  string
	class class
	stem  bool
}

// lexicon holds the vocabulary by first character, longest word first. It is built when it is first needed: most
// processes read no verdict.
var lexicon = sync.OnceValue(buildLexicon)

func buildLexicon() map[rune][]entry {
	type id struct {
		text string
		stem bool
	}
	classes := map[id]class{}
	for c, words := range vocabulary {
		for w := range strings.SplitSeq(words, "|") {
			w, stem := strings.CutSuffix(strings.TrimSpace(w), "*")
			w = strings.ReplaceAll(fold(w), "'", " ")
			classes[id{w, stem}] |= c
		}
	}
	m := map[rune][]entry{}
	for k, c := range classes {
		r, _ := utf8.DecodeRuneInString(k.text)
		m[r] = append(m[r], entry{k.text, c, k.stem})
	}
	for _, list := range m {
		sort.Slice(list, func(i, j int) bool {
			a, b := list[i], list[j]
			if len(a.text) != len(b.text) {
				return len(a.text) > len(b.text)
			}
			if a.text != b.text {
				return a.text < b.text
			}
			return !a.stem && b.stem
		})
	}
	return m
}
