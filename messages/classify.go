package messages

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"flower/agent"
)

// Bytes of a text that are looked at: what an endpoint has to say stands at the beginning, unless it repeats the request
// first. All words together take about 15 µs for a kilobyte.
const (
	maxBeginning = 6 << 10
	maxEnd       = 2 << 10
)

// Classify says what can be done about a failure. The status decides; without one (0) or with a 2xx, under which a
// stream reports its errors, the API's error type; without either the text, in which an overflow is looked for first,
// then what no waiting helps against, then what passes. Two things are looked for beside the status: an overflow in a
// bad request, and a spending limit in a rate limit. Pure and safe for concurrent use.
func Classify(status int, errorType, text string) agent.ErrorKind {
	if len(text) > maxBeginning+maxEnd {
		text = text[:maxBeginning] + "\n" + text[len(text)-maxEnd:]
	}
	text = strings.ToLower(text)
	errorType = strings.ToLower(strings.TrimSpace(errorType))
	switch {
	case status < 100 || status/100 == 2:
		return classifyType(errorType, text)
	case status == http.StatusBadRequest && overflows(text):
		return agent.Overflow
	case status == http.StatusTooManyRequests && spent(errorType, text):
		return agent.Fatal
	}
	return classifyStatus(status)
}

func classifyStatus(status int) agent.ErrorKind {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests,
		499: // a proxy's word for a client that went away
		return agent.Transient
	}
	switch status / 100 {
	case 3, 5: // a redirect comes from a portal
		return agent.Transient
	case 4:
		return agent.Fatal
	}
	return agent.Unknown
}

// statusOf is the status that goes with each error type of the API.
var statusOf = map[string]int{
	"invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
	"not_found_error": 404, "conflict_error": 409, "request_too_large": 413, "rate_limit_error": 429,
	"api_error": 500, "timeout_error": 504, "overloaded_error": 529,
}

func classifyType(errorType, text string) agent.ErrorKind {
	status, known := statusOf[errorType]
	switch {
	case !known:
		return classifyText(errorType + " " + text)
	case status == http.StatusBadRequest && overflows(text):
		return agent.Overflow
	case status == http.StatusTooManyRequests && spent(errorType, text):
		return agent.Fatal
	}
	return classifyStatus(status)
}

// outageOf names what a refusal is a sign of if it is transient: what redirects or asks to sign in is not the endpoint,
// and what says that it is too busy, by its status or in the middle of a stream, wants to be left alone for a while.
func outageOf(status int, errorType string) agent.Outage {
	if status < 100 || status/100 == 2 {
		status = statusOf[strings.ToLower(strings.TrimSpace(errorType))]
	}
	switch {
	case status/100 == 3, status == http.StatusNetworkAuthenticationRequired:
		return agent.Portal
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable, status == 529:
		return agent.Busy
	}
	return agent.NoOutage
}

func classifyText(text string) agent.ErrorKind {
	fatalStatus, passingStatus := statusWords(text)
	switch {
	case overflows(text):
		return agent.Overflow
	case page().MatchString(text), certificate().MatchString(text):
		return agent.Transient
	case fatalStatus, fatalWords().MatchString(text), spent("", text):
		return agent.Fatal
	case passingStatus, passingWords().MatchString(text):
		return agent.Transient
	}
	return agent.Unknown
}

func overflows(text string) bool {
	return overflow().MatchString(text) && !ratePerTime().MatchString(text)
}

func spent(errorType, text string) bool {
	return errorType == "billing_error" || errorType == "insufficient_quota" || spending().MatchString(text)
}

// The words are matched against text in lower case. Languages besides English are those gateways are known to answer
// in: Chinese, Japanese, Korean, German, French, Spanish.
var (
	overflow = words(
		`(prompt|input) is too long`, `prompt too long`, `too many total text bytes`,
		`input length and .?max_tokens.? exceed`, `context[ _-]?(window|length|size)[ _-](is |was |has been |limit )?(exceeded|full|too long)`,
		`max(imum)?[ _-]context[ _-](length|size|window)`, `context[ _-]?(window|length|size) of (only )?\d`,
		`(exceed(s|ed|ing)?|larger than|longer than|over|beyond|fit(s)?( in| into| within)?) (the |this |its )?(model'?s? |available |maximum )*context[ _-]?(window|length|size|limit)`,
		`context (limit|window) (is |was |has been )?(reached|exceeded)`,
		`model_context_window_exceeded`, `input token count.{0,40}exceeds`, `range of input length should be`,
		`reduce the length of (the|your) (messages|prompt|input)`,
		`上下文.{0,12}(超|过长|太长|上限)`, `超(出|过|过了|出了).{0,16}上下文`, `(输入|提示词?).{0,6}(过长|太长)`,
		`コンテキスト.{0,12}(超|長すぎ|上限)`, `(プロンプト|入力)が長すぎ`, `컨텍스트.{0,16}(초과|너무)`,
		`kontext(fenster|länge|limit|grenze)?s?\b.{0,30}(überschr|überstieg|übersteig|zu (lang|groß))`, `(überschreite|übersteig).{0,40}kontext`,
		`(dépasse|excède).{0,40}contexte`, `contexte.{0,30}(dépass|trop long)`,
		`(excede|supera).{0,40}contexto`, `contexto.{0,30}(excedid|superad|demasiado larg)`,
	)
	ratePerTime = words(`(per|a|/) ?(second|minute|hour|day)\b`, `\btpm\b`, `rate.limit`)

	spending = words(
		`spend(ing)?[ _-](limit|cap)`, `insufficient[ _](quota|credits?|funds|balance)`, `credit balance`, `exceeded your current quota`,
		`余额不足`, `欠费`, `残高不足`,
	)

	page        = words(`^[^{]*<(!doctype html|html|head|body)\b`)
	certificate = words(
		`x509:`, `tls: failed to verify`, `self[- _]signed[- _]cert`, `certificate (has expired|is not yet valid|is valid for|verif|signed by|problem)`,
		`unable to (get|verify).{0,20}certificate`, `unable_to_verify_leaf`, `err_tls_cert`, `cert_has_expired`,
	)

	fatalWords = words(
		`(invalid|incorrect|missing|expired|revoked|wrong) (x-)?api[ _-]?key`, `(x-)?api[ _-]?key (is |was |has )?(been )?(invalid|incorrect|missing|expired|revoked|disabled|not valid)`,
		`invalid (bearer |access |auth(entication)? )?token\b`, `\bunauthori[sz]ed\b`, `\bnot authori[sz]ed\b`, `\bforbidden\b`, `authentication (failed|required)\b`,
		`invalid_request_error`, `authentication_error`, `permission_error`, `billing_error`, `not_found_error`, `request_too_large`, `invalid_api_key`,
		`permission denied`, `access denied`, `payment required`, `billing (hard )?limit`, `account (is |has been |was )?(suspended|disabled|deactivated|blocked)`,
		`\bbudget\b.{0,40}(used up|exceeded|exhausted|spent|reached)`, `(exceed|over|out of|reached).{0,20}\bbudget\b`,
		`max_turns`, `max_budget`, `(turn|money|cost) limit\b`, `(no such|unknown|unsupported) model`, `model .{0,60}(not found|does not exist|is not supported)`,
		`(令牌|密钥|key).{0,6}(无效|错误|过期)`, `无效的?.{0,6}(令牌|密钥)`, `未授权`, `无权`, `(鉴权|认证)失败`, `模型不存在`, `预算`,
		`認証(に)?失敗`, `権限がありません`, `(キー|トークン)が無効`, `無効な.{0,6}(キー|トークン)`, `인증`, `권한이 없`,
		`zugriff verweigert`, `nicht (autorisiert|berechtigt)`, `ungültiger? .{0,12}(schlüssel|token)`, `guthaben`,
		`non autorisé`, `accès refusé`, `(clé|jeton).{0,20}(invalide|non valide)`, `solde insuffisant`, `crédits? insuffisant`,
		`no autorizado`, `acceso denegado`, `(clave|token).{0,20}(inválid|no válid)`, `saldo insuficiente`,
	)

	passingWords = words(
		`\be(connrefused|connreset|connaborted|notfound|timedout|ai_again|pipe|hostunreach|hostdown|netunreach|netdown)\b`, `\beai_again\b`,
		`connection.{0,20}(refused|reset|closed|error|aborted|broken|lost|timed out|failed|terminated|interrupted)`,
		`(broken|connect to|reach) (pipe|(the )?(api|server|host|endpoint))`, `(can'?t|cannot|could not|unable to) (reach|connect)`, `connect error`,
		`no such host`, `name resolution`, `no route to host`, `socket hang up`, `fetch failed`, `use of closed network`, `no healthy upstream`, `proxyconnect`,
		`network (is |was )?(unreachable|down|error|changed|failure|timeout|connection)`, `host is (down|unreachable)`,
		`time[ -]?out`, `timed out`, `deadline exceeded`, `\beof\b`, `unexpected end of json`, `goaway`, `stream error`, `stream (was )?(closed|reset|ended)`, `http2:`,
		`tls: `, `handshake`, `captive portal`, `overloaded`, `over ?capacity`, `rate[ _-]?limit`, `too many requests`, `slow down`, `throttl`,
		`unavailable`, `try again`, `bad gateway`, `(internal )?server (error|busy|is busy)`, `(internal_)?server_error`, `service_unavailable`,
		`过于频繁`, `稍后(再|重)试`, `繁忙`, `超时`, `连接.{0,6}(拒绝|重置|失败|断开|中断)`, `网络`, `不可用`, `限流`, `过载`, `内部(服务器)?错误`,
		`タイムアウト`, `接続.{0,8}(拒否|失敗|切断|リセット|でき)`, `混雑`, `しばらく`, `リクエストが多すぎ`, `利用できません`, `サーバー.{0,4}エラー`, `ネットワーク`,
		`시간 초과`, `연결`, `요청이 너무 많`,
		`zeitüberschreitung`, `verbindung.{0,20}(abgelehnt|verweigert|unterbrochen|fehlgeschlagen|getrennt|zurückgesetzt)`, `nicht (verfügbar|erreichbar)`, `überlastet`, `zu viele anfragen`,
		`délai.{0,12}dépassé`, `connexion.{0,20}(refusée|perdue|interrompue|réinitialisée|impossible)`, `indisponible`, `surchargé`, `trop de requêtes`, `injoignable`,
		`tiempo de espera`, `conexión.{0,20}(rechazada|perdida|interrumpida|restablecida|fallida)`, `no disponible`, `sobrecargad`, `demasiadas (solicitudes|peticiones)`,
	)
)

// words compiles on first use: a run without failures does not pay for it.
func words(patterns ...string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(strings.Join(patterns, "|")) })
}

// unitsAfter are words that make a count of the number before them.
var unitsAfter = map[string]bool{
	"ms": true, "s": true, "sec": true, "seconds": true, "minutes": true, "bytes": true, "kb": true, "mb": true, "kib": true, "mib": true,
	"files": true, "lines": true, "tokens": true, "items": true, "rows": true, "times": true, "words": true, "characters": true, "turns": true,
}

// statusWords says whether text names a status, as a word of its own, that is fatal or that passes. A number that is
// part of an id, a version, an amount, a port or a count is none.
func statusWords(text string) (fatal, passing bool) {
	for i := 0; i+3 <= len(text); i++ {
		if text[i] < '3' || text[i] > '5' || !digits(text[i:i+3]) || i+3 < len(text) && digits(text[i+3:i+4]) {
			continue
		}
		if i > 0 && joined(text[i-1]) || i > 1 && text[i-1] == ':' && digits(text[i-2:i-1]) || i > 0 && text[i-1] == '.' {
			continue
		}
		rest := text[i+3:]
		if rest != "" && joined(rest[0]) || len(rest) > 1 && (rest[0] == '.' || rest[0] == ',') && digits(rest[1:2]) {
			continue
		}
		next, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
		if strings.HasPrefix(rest, " ") && unitsAfter[strings.TrimRight(next, ".,;:!)")] {
			continue
		}
		switch status, _ := strconv.Atoi(text[i : i+3]); {
		case status == 529 || status >= 500 && status <= 530 || status == 408 || status == 409 || status == 425 || status == 429:
			passing = true
		case status >= 400 && status <= 431:
			fatal = true
		}
		i += 2
	}
	return fatal, passing
}

// joined says whether a byte beside a number makes it a part of something longer.
func joined(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '$' || c == '/' || c == '#' || c >= 0x80
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// RetryAfter reads the value of a retry-after header: a number of seconds or a date in one of the three forms of HTTP.
// A date that has passed asks for no wait. It reports false for anything else.
func RetryAfter(value string, now time.Time) (time.Duration, bool) {
	value = strings.Trim(value, " \t")
	if value == "" {
		return 0, false
	}
	if digits(value) {
		const most = int64(1<<63-1) / int64(time.Second)
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n > most {
			n = most
		}
		return time.Duration(n) * time.Second, true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return max(0, at.Sub(now)), true
}
