package redact

import "strings"

// form is the shape of secrets of one kind that have no fixed prefix.
type form struct {
	name, form string
	hints      []string
	exact      bool
	match      func(s string, start, end int) (found span, read int)
}

// forms are the shapes with their own rules.
var forms = []form{
	{"private key", "`-----BEGIN … PRIVATE KEY-----` to its end, of PEM, OpenSSH and PGP; also one that was cut, after 10 or more characters", []string{"PRIVATE KEY"}, true, privateKey},
	{"PuTTY private key", "the lines after `Private-Lines:`", []string{"Private-Lines:"}, true, puttyKey},
	{"JSON Web Token", "`eyJ…`, `.ey…` and a signature; also encrypted ones", []string{"eyJ"}, true, jwt},
	{"password in a URL", "`scheme://user:PASSWORD@host`, and a token in the place of the user", []string{"://", `:\/`, `:\\/`, `:\\\`}, true, urlPassword},
	{"Azure client secret", "3 characters, a digit, `Q~` and 31 or more characters", []string{"Q~"}, true, azureSecret},
	{"Azure DevOps and storage key", "84 characters with `AZDO`, 88 with `+ASt` or `ACDb`", []string{"AZDO", "+ASt", "ACDb", "AzSe"}, true, azureKey},
	{"Terraform Cloud token", "14 letters and digits, `.atlasv1.` and 20 or more characters", []string{".atlasv1."}, true, terraform},
	{"Mailchimp key", "32 hexadecimal digits, `-us` and a number", []string{"-us"}, true, mailchimp},
	{"Telegram bot token", "8 to 10 digits, `:AA` and 32 or more characters", []string{":AA"}, true, telegram},
	{"Discord and Airtable token", "three parts of 23 to 28, 6 and 27 or more characters; `pat`, 14 characters, a point and 64 hexadecimal digits", []string{"."}, true, pointed},
	{"signature in a URL", "`sig=`, `X-Amz-Signature=`, `X-Goog-Signature=` in a query", []string{"sig=", "-signature="}, false, signature},
	{"authorisation header", "`Authorization:`, `Proxy-Authorization:`", []string{"authorization"}, false, header},
	{"bearer token", "`Bearer ` and a token of 16 or more characters", []string{"bearer "}, false, bearer},
	{"cookies", "`Cookie:`, `Set-Cookie:`", []string{"cookie"}, false, cookie},
	{"password of a name", "a value after a name that ends with `password`, `passwd`, `passphrase`, `passcode`, `pwd`, `_pass` or `-pass`, " + inAssignments, []string{"password", "passwd", "passphrase", "passcode", "pwd", "_pass", "-pass"}, false, ofClass(password)},
	{"secret of a name", "a value after a name that ends with `secret`, `token`, `api_key`, `access_key`, `secret_key`, `private_key`, `account_key`, `credential`, " + inAssignments,
		[]string{
			"secret", "token", "api_key", "api-key", "apikey", "access_key", "access-key", "accesskey", "secret_key", "secret-key", "secretkey",
			"private_key", "privatekey", "account_key", "accountkey", "credential", "credentials", "key_base",
		}, false, ofClass(secret)},
	{"key of a name", "a value that looks random after a name that ends with `_key`, `_pat`, `_pass`, `_auth`, unless the name contains `public`", []string{"_key", "-key", "_pat", "_pass", "_auth", "_dsn"}, false, ofClass(weak)},
	{"password of a name in camel case", "a value after a name that ends with `Pass` after a lower-case letter, in the same places", []string{"Pass"}, true, camel(password)},
	{"key of a name in camel case", "a value that looks random after a name that ends with `Key`, `Pat`, `Auth` after a lower-case letter, unless the name contains `public`", []string{"Key", "Pat", "Auth", "Dsn"}, true, camel(weak)},
	{"user and password of curl", "`-u user:PASSWORD`, `--user user:PASSWORD`", []string{"curl"}, true, curl('u', "--user")},
	{"user and password of curl's proxy", "`-U user:PASSWORD`, `--proxy-user user:PASSWORD`", []string{"curl"}, true, curl('U', "--proxy-user")},
}

const inAssignments = "in JSON, YAML, TOML, environments, queries, headers, XML and flags of commands"

// run returns the end of the characters of a class that begin at i.
func run(s string, i int, in func(byte) bool) int {
	for i < len(s) && in(s[i]) {
		i++
	}
	return i
}

// ahead is run for at most most characters.
func ahead(s string, i, most int, in func(byte) bool) int { return run(s[:min(len(s), i+most)], i, in) }

// back returns the beginning of the characters of a class that end before i, at most most of them.
func back(s string, i, most int, in func(byte) bool) int {
	for n := 0; i > 0 && n < most && in(s[i-1]); n++ {
		i--
	}
	return i
}

func isToken(c byte) bool  { return isWord(c) || c == '-' }
func isBase64(c byte) bool { return isWord(c) && c != '_' || c == '+' || c == '/' || c == '=' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }

const (
	uppercaseLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	lowercaseLetters = "abcdefghijklmnopqrstuvwxyz"
)

const maxArmor = 64 << 10 // bytes of a private key

// privateKey finds an armored key, or the beginning of one without an end.
func privateKey(s string, start, end int) (span, int) {
	const dashes, first = "-----", "-----BEGIN "
	begin := strings.LastIndex(s[max(0, start-60):start], dashes)
	if begin += max(0, start-60); begin < 0 || !strings.HasPrefix(s[begin:], first) {
		return span{}, 0
	}
	after := strings.TrimPrefix(s[end:], " BLOCK")
	if !strings.HasPrefix(after, dashes) {
		return span{}, 0
	}
	body := len(s) - len(after) + len(dashes)
	limit := min(len(s), body+maxArmor)
	stop := run(s[:limit], body, func(c byte) bool {
		return isBase64(c) && c != '_' || strings.IndexByte(":,. \t\r\n\\()_@<>", c) >= 0
	})
	for stop < limit && s[stop] == '-' && !strings.HasPrefix(s[stop:], dashes) {
		stop = run(s[:limit], stop+1, func(c byte) bool { return isBase64(c) || strings.IndexByte(":,. \t\r\n\\()_@<>", c) >= 0 })
	}
	if rest := s[stop:]; strings.HasPrefix(rest, dashes+"END ") {
		if i := strings.Index(rest[len(dashes):min(len(rest), 100)], dashes); i >= 0 {
			return span{begin, stop + 2*len(dashes) + i}, 0
		}
	}
	// A truncated key: lines of base64, of which the last may be short, after lines of names and values.
	at := body
	for line := body; line < limit; {
		line = run(s, line, isBlank)
		if next := newline(s, line); next > line {
			line = next
			continue
		}
		stop := run(s, line, isBase64)
		if at == body && line > body && strings.HasPrefix(s[run(s, line, isToken):], ": ") {
			line = lineEnd(s, line, run(s, body, isBackslash)-body)
			continue
		}
		if stop-line < 40 && !(armored(s[line:stop]) && !isBlank(s[line-1]) && lineEnds(s, stop)) {
			break
		}
		at, line = stop, stop
	}
	if at == body {
		return span{}, 0
	}
	return span{begin, at}, 0
}

// armored reports whether a short line may be the beginning of a line of base64.
func armored(line string) bool {
	return len(line) >= 10 && (hasDigit(line) || len(strings.TrimRight(strings.TrimLeft(line, uppercaseLetters), lowercaseLetters)) > 0)
}

// lineEnds reports whether a line, or a text that was cut, ends at i.
func lineEnds(s string, i int) bool {
	return i == len(s) || newline(s, i) > i || strings.IndexByte("\"'`.<[", s[i]) >= 0 || s[i] == '\\' || strings.HasPrefix(s[i:], "…")
}

// puttyKey finds the private part of a PuTTY key file.
func puttyKey(s string, _, end int) (span, int) {
	stop := end
	for {
		line := run(s, stop, func(c byte) bool { return c == ' ' || isDigit(c) || c == '\r' || c == '\n' })
		if strings.HasPrefix(s[line:], `\n`) || strings.HasPrefix(s[line:], `\r`) {
			line += 2
			if strings.HasPrefix(s[line:], `\n`) {
				line += 2
			}
		}
		next := run(s, line, isBase64)
		if next-line < 20 {
			break
		}
		stop = next
	}
	return span{end, stop}, 0
}

func jwt(s string, start, end int) (span, int) {
	if !free(s, start) {
		return span{}, 0
	}
	stop, parts := run(s, end, isToken), 1
	if stop-end < 8 {
		return span{}, stop
	}
	for stop < len(s) && s[stop] == '.' && parts < 5 {
		next := run(s, stop+1, isToken)
		if parts == 1 && next-stop > 1 && !strings.HasPrefix(s[stop+1:], "ey") && next-stop < 20 {
			return span{}, stop
		}
		stop, parts = next, parts+1
	}
	if parts < 3 {
		return span{}, stop
	}
	return span{start, stop}, stop
}

// urlPassword finds the password in a URL, or a lone token before the host.
func urlPassword(s string, start, end int) (span, int) {
	const most = 2048
	if start == 0 || !isWord(s[start-1]) {
		return span{}, 0
	}
	begin := run(s, end, func(c byte) bool { return c == '/' || c == '\\' })
	if slashes := strings.Count(s[start:begin], "/"); slashes != 2 {
		return span{}, 0
	}
	colon, at := -1, begin
	for ; at < len(s) && at-begin < most && s[at] != '@'; at++ {
		switch c := s[at]; {
		case c == ':' && colon < 0:
			colon = at
		case c == ':' && strings.HasPrefix(s[at:], "://"): // another URL
			return span{}, 0
		case c == '\\':
			code := run(s, at, isBackslash)
			if strings.HasPrefix(s[code:], "/") { // an escaped one
				at = code - 1
				continue
			}
			if !strings.HasPrefix(s[code:], "u00") {
				return span{}, 0
			}
			at = code + 2
		case c == '/' && colon > begin && s[begin] != '[' && inPassword(s[colon+1:at]):
		case c <= ' ' || strings.IndexByte("/\"'`<>", c) >= 0:
			return span{}, 0
		}
	}
	if at >= len(s) || s[at] != '@' || at == begin {
		return span{}, 0
	}
	if colon < 0 {
		if user := s[begin:at]; random(user) {
			return span{begin, at}, 0
		}
		return span{}, 0
	}
	value := s[colon+1 : at]
	if value == "" || value == Mark || strings.IndexByte("${*[<", value[0]) >= 0 ||
		value[0] == '%' && !(len(value) > 2 && isHex(value[1]) && isHex(value[2])) {
		return span{}, 0
	}
	return span{colon + 1, at}, 0
}

// inPassword reports whether a slash after a colon and a text belongs to a password, and does not
// follow a port.
func inPassword(text string) bool {
	text = strings.TrimRight(text, `\`)
	return text != "" && !number(text)
}

func azureSecret(s string, start, end int) (span, int) {
	in := func(c byte) bool { return isToken(c) || c == '.' || c == '~' }
	begin, stop := back(s, start, 5, in), ahead(s, end, 41, in)
	if start-begin != 4 || !isDigit(s[start-1]) || stop-end < 31 || stop-end > 40 {
		return span{}, 0
	}
	return span{begin, stop}, 0
}

func azureKey(s string, start, end int) (span, int) {
	begin, stop := back(s, start, 91, isBase64), ahead(s, end, 91, isBase64)
	for begin < start && s[begin] == '=' {
		begin++
	}
	if n := stop - begin; n < 82 || n > 90 {
		return span{}, 0
	}
	return span{begin, stop}, 0
}

func terraform(s string, start, end int) (span, int) {
	begin, stop := back(s, start, 15, isToken), run(s, end, isToken)
	if start-begin != 14 || stop-end < 20 {
		return span{}, 0
	}
	return span{begin, stop}, stop
}

func mailchimp(s string, start, end int) (span, int) {
	begin, stop := back(s, start, 33, isHex), ahead(s, end, 3, isDigit)
	if start-begin != 32 || stop == end || stop-end > 2 || !free(s, begin) {
		return span{}, 0
	}
	return span{begin, stop}, 0
}

func telegram(s string, start, end int) (span, int) {
	begin, stop := back(s, start, 11, isDigit), ahead(s, end, 37, isToken)
	if n := start - begin; n < 8 || n > 10 || stop-end < 32 || stop-end > 36 {
		return span{}, 0
	}
	return span{begin, stop}, 0
}

// pointed finds tokens that consist of parts separated by full stops: those of Discord bots and of
// Airtable.
func pointed(s string, start, end int) (span, int) {
	if len(s) > end+6 && s[end+6] == '.' {
		begin, middle, stop := back(s, start, 29, isToken), run(s[:end+6], end, isToken), run(s, end+7, isToken)
		if n := start - begin; n >= 23 && n <= 28 && middle == end+6 && stop-end-7 >= 27 && strings.IndexByte("MNO", s[begin]) >= 0 && mixed(s[begin:start]) {
			return span{begin, stop}, 0
		}
	}
	if begin := start - 17; begin >= 0 && strings.HasPrefix(s[begin:], "pat") && free(s, begin) {
		if stop := ahead(s, end, 65, isHex); stop-end == 64 && back(s, start, 14, isWord) == begin+3 {
			return span{begin, stop}, 0
		}
	}
	return span{}, 0
}

func signature(s string, start, end int) (span, int) {
	name := back(s, start, 20, isToken)
	escaped := name > 0 && s[name-1] == '\\' && strings.HasPrefix(s[name:], "u0026")
	if name == 0 || !escaped && strings.IndexByte("?&;", s[name-1]) < 0 {
		return span{}, 0
	}
	stop := run(s, end, func(c byte) bool { return isBase64(c) || c == '%' || c == '-' || c == '.' || c == '~' })
	if stop-end < 16 {
		return span{}, 0
	}
	return span{end, stop}, 0
}
