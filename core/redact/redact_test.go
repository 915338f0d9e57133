package redact

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sample returns a token: its prefix and the required number of characters. It is assembled here so
// that no scanner mistakes it for a real one.
func sample(t *token, prefix string) string {
	class, random := classOf(t.chars), rand.New(rand.NewPCG(1, uint64(len(prefix))))
	var chars []byte
	for c := range 256 {
		if class[c] && isWord(byte(c)) && c != '_' {
			chars = append(chars, byte(c))
		}
	}
	body := []byte{}
	for _, c := range []byte("2a7") {
		if class[c] {
			body = append(body, c)
		}
	}
	if class['Q'] && class['q'] {
		body = append(body, "Qq7"...)
	}
	for n := t.least; len(body) < n; {
		body = append(body, chars[random.IntN(len(chars))])
	}
	return prefix + string(body)
}

func TestTokens(t *testing.T) {
	for i := range tokens {
		kind := &tokens[i]
		for _, prefix := range kind.prefixes {
			s := sample(kind, prefix)
			for _, around := range [][2]string{{"", ""}, {" ", " "}, {"\"", "\""}, {"=", "\n"}, {"(", ")"}, {`\n`, `\n`}, {`\u0026`, `\u0026`}, {":[", "]"}, {"/", "\""}} {
				require.Equal(t, around[0]+Mark+around[1], Text(around[0]+s+around[1]), "%s: %s", kind.name, s)
			}
			require.Equal(t, "x"+s, strings.ReplaceAll(Text("x"+s), Mark, s), kind.name)
		}
	}
}

// The body of a token may contain each character of its ranges.
func TestCharacters(t *testing.T) {
	for _, s := range []string{
		"xoxb-" + "1234567890-abcdefABCDEF", "xoxd-" + "abc%2Fdef%3D1234", "hooks.slack.com/services/" + "T0AB/B0CD/abcdefghij12", "discord.com/api/webhooks/" + "123456789/ab-CD_ef12345",
		"FlyV1 " + "fm2_lJPECAAAAA,fm2_abc/def+x=", "sk-ant-" + "api03-x-Y_z12345678901", "SG." + "aB3_d-aB3d.aB3daB3daB3d", "SG." + "abcdefghijklmnopqrstuv.ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopq", "v1.0-" + strings.Repeat("0a1b2c-", 12) + "0a",
		"sk_live_" + "abcdefghijkl", "rk_test_" + "abcdefghij",
	} {
		require.Equal(t, Mark, Text(s))
	}
}

var line64 = strings.Repeat("MIIEvQ+/", 8)

// samples are texts for each form, with the secret between « and ».
var samples = map[string][]string{
	"private key": {
		"«-----BEGIN RSA PRIVATE " + "KEY-----\nProc-Type: 4,ENCRYPTED\n\n" + line64 + "\n" + line64 + "\nAb==\n-----END RSA PRIVATE " + "KEY-----»\n",
		"«-----BEGIN PGP PRIVATE " + "KEY BLOCK-----\nVersion: GnuPG v2 (x)\n\n" + line64 + "\n=ab12\n-----END PGP PRIVATE " + "KEY BLOCK-----»",
		"«-----BEGIN OPENSSH PRIVATE " + `KEY-----\n` + line64 + `\n` + line64 + `\n-----END OPENSSH PRIVATE ` + "KEY-----»",
		"«-----BEGIN PRIVATE " + "KEY-----\n" + line64 + "\n" + line64 + "»\n",
		"«-----BEGIN PRIVATE " + "KEY-----\nMIIEvQIBADAN»", "«-----BEGIN OPENSSH PRIVATE " + "KEY-----\nb3BlbnNzaC1rZXktdjE»...", "key: «-----BEGIN RSA PRIVATE " + "KEY-----\n" + line64 + "\nMIIEvQIBADAN»\n",
		"«-----BEGIN RSA PRIVATE " + "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\n" + line64 + "\nMIIEvQIBADAN»", "\"«-----BEGIN PRIVATE " + "KEY-----\\nMIIEvQIBADAN»\"",
	},
	"PuTTY private key": {"Private-Lines:« 2\n" + line64 + "\n" + line64 + "»\nPrivate-MAC: x"},
	"JSON Web Token": {
		"x «eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0." + strings.Repeat("dozjg-_", 6) + "»",
		"«eyJhbGciOiJSU0EtT0FFUCJ9" + "." + strings.Repeat("OKOawDo13g", 4) + ".48V1_ALb6US04U3b.5eym8TW_c8SuK0ltJ3rpYIzOeDQz7TALvtu6UG9oMo4vpzs9tX.XFBoMYUZodetZdvTiFvSkQ»",
	},
	"password in a URL": {
		"https://me:«hunter2&x»@example.com/a?b=c@d", "postgres://u:«p%40ss»@db:5432/x", "redis://:«pw»@h", `https:\/\/me:«pw»@h`,
		`amqp://a:«b\u0026c»@h`, "https://«" + "0a1b2c3d4e5f6a7b8c9d" + "»@git.example/x",
		"postgres://u:«pa/ss»@h/db", "postgres://u:«pa/s#s?»@h:5432/db", `https:\/\/me:«p\/w»@h\/x`,
	},
	"Azure client secret":          {"x=«abc8Q~" + strings.Repeat("aB3.", 8) + "»"},
	"Azure DevOps and storage key": {"x: «" + strings.Repeat("aB3d", 19) + "AZDO" + "aB3d»"},
	"Terraform Cloud token":        {"«" + "aB3daB3daB3daB" + ".atlasv1." + strings.Repeat("aB3d", 16) + "»"},
	"Mailchimp key":                {"«" + strings.Repeat("0a1b", 8) + "-us12»"},
	"Telegram bot token":           {"«123456789" + ":AA" + strings.Repeat("aB3", 11) + "»", "https://api.telegram.org/bot«123456789" + ":AA" + strings.Repeat("aB3", 11) + "»/x"},
	"Discord and Airtable token": {
		"«MTk4NjIyNDgzNDcxOTI1MjQ4" + ".Cl2FMQ." + "ZnCjm1XVW7vRze4b7Cq4se7kKWs»", "«pat" + "aB3daB3daB3daB" + "." + strings.Repeat("0a1b", 16) + "»",
	},
	"signature in a URL": {
		"https://x.blob.core.windows.net/a?sv=2024-01-01&sig=«" + "aB3%2FaB3daB3daB3daB3d%3D»&se=x", "https://s3/x?X-Amz-Date=1&X-Amz-Signature=«" + strings.Repeat("0a1b", 16) + "»",
	},
	"authorisation header": {
		"Authorization: «Bearer abcd»\nAccept: x", "curl -H 'Authorization: «Basic dXNlcjpwYXNz»' x", `"Authorization": "«Bearer abc.def»"`, "proxy-authorization: «Basic dXNlcjpwYXNz»",
		"map[Authorization:[«Bearer abc»] X:[y]]", `{\"Authorization\":\"«token abcd1234»\"}`, "Authorization: «AWS4-HMAC-SHA256 Credential=a/b, Signature=0f»", "AUTHORIZATION=«Bearer abcd»",
	},
	"bearer token": {"with bearer «" + "0a1b2c3d4e5f6a7b»."},
	"cookies":      {"Cookie: «a=b1; c=d2»\n", "Set-Cookie: «sid=abc123; Path=/; HttpOnly»\r\n", `"cookie": "«sid=abc»"`},
	"password of a name": {
		"PASSWORD=«hunter2»", "DB_PASS=«hunter12hunter» x", "export DB_PASSWORD=«hunter2;x,y»\n", "PGPASSWORD='«hunter 2»' psql", `{"password":"«hunter2»"}`, `{\"password\":\"«hunter2»\"}`, "password: «hunter2»\n", "password = \"«hunter2»\"",
		"?user=a&password=«hunter2»&x=y", "--password «hunter2» x", "--password=«hunter2»", `["--password","«hunter2»"]`, "<password>«hunter2»</password>", "password=«hunter2» dbname=x",
		"Server=x;Password=«hunter2»;", "{User:me Password:«hunter2»}", `password => '«hunter2»'`, "MYSQL_PWD=«abc» x", "smtpPassword: '«correct horse»'", `d["password"] = "«hunter2»"`, `time=x password=«hunter2»`, "sign_passphrase: \"«a b c»\"",
		"<password type=\"x\">«hunter2abc»</password>", "<password><![CDATA[«hunter2abc»]]></password>", "<password a=\"b\"><![CDATA[«a<b&c»]]></password>", "<wsse:Password Type=\"#PasswordText\">«hunter2»</wsse:Password>",
		"password: |\n  «hunter2abc»", "a:\n  password: >-\n    «hunter2abc\n    more lines»\n  b: c", "- password: |2+\n    «hunter2\"abc»\n- x",
		`{"name":"DB_PASSWORD","value":"«hunter2abc»"}`, "{\"name\": \"DB_PASSWORD\",\n \"value\": \"«hunter2abc»\"}", "env:\n- name: DB_PASSWORD\n  value: «hunter2»\n", "{Name: \"DB_PASSWORD\", Value: \"«hunter2abc»\"}", "<add key=\"password\" value=\"«hunter2abc»\"/>",
		"PASSWORD=${OTHER:-«hunter2abc»}", "PASSWORD=\"${OTHER:-«hunter2abc»}\"", "password: ${OTHER-«hunter2abc»}\n", "PASSWORD=${OTHER:='«hunter2abc»'}",
		`password="«hun'ter2\"more»"`, `password="«hunter2\\»" x="y"`, `password='«hunter2\»' x`, `password='«hun\'ter2»' x`, `password='«hunter2\\»', b='c'`, "password: '«hun''ter2»'",
	},
	"secret of a name": {
		"AWS_SECRET_ACCESS_KEY=«wJalrXUtnFEMI/K7MDENG/bPxRfiCY»\n", "TOKEN=«abcdef»", "SECRET=«abc»", "OPENAI_API_KEY=«whatever»", "client_secret: \"«abc123de»\"", "apiKey: '«0123abcd»'",
		"X-Api-Key: «abcdef»\n", `"X-Auth-Token", "«abcdef»"`, "--token «abc123»", "--api-key=«abc»", "&access_token=«abc»&", "AccountName=x;AccountKey=«aB3daB3daB3daB3d+/aB==»;E=y", "secretAccessKey = \"«wJalrXUtnFEMI/K7»\"",
		"token: «0a1b2c3d4e5f6a7b»\n", "DefaultEndpoints;SharedAccessKey=«aB3daB3daB3daB3d»", "MISTRAL_API_KEY=«abcdefgh»", "SECRET_KEY_BASE=«abc»",
		"token: «aB3dE5fG7h»", "authToken: «aB3dE5fG7h9iJ1»\n", "token = «aB3dE5fG7h»\n", `{"name":"API_TOKEN","value":"«whatever»"}`, "token: |\n  «aB3dE5fG7h»\n", "token: ${T:-«aB3dE5fG7h»}",
	},
	"key of a name":                    {"STRIPE_KEY=«0a1b2c3d4e5f6a7b8c»", "signing_key: \"«0a1b2c3d4e5f6a7b8c»\"", "GH_PAT=«0a1b2c3d4e5f6a7b8c»"},
	"password of a name in camel case": {"dbPass: '«hunter2»'", "smtpPass=«hunter2»"},
	"key of a name in camel case":      {"encryptionKey: «q7Rk2vJz9LmP4xWc8TnB5s»", `{"signingKey":"«0a1b2c3d4e5f6a7b8c»"}`, "githubPat = \"«0a1b2c3d4e5f6a7b8c»\""},
	"user and password of curl": {
		"curl -u me:«hunter2» https://x", "curl -sS --user 'me:«hunter2»' https://x", "curl -uuser:«hunter2abc» x", "curl -su user:«hunter2abc»", "curl --user=user:«hunter2abc»",
		"curl -u $'user:«hunter2abc»'", "curl -u \"user:«hunter2 abc»\" x", "curl -u user:'«hunter2 abc»' x", "curl https://x \\\n  -u user:«hunter2abc»", `["curl", "-sSu", "user:«hunter2abc»"]`, "curl -u :«hunter2»",
	},
	"user and password of curl's proxy": {"curl -x p -U me:«hunter2» https://x", "curl --proxy-user me:«hunter2» -u me", "curl -sU 'me:«hunter2»'"},
}

func TestForms(t *testing.T) {
	for _, f := range forms {
		require.NotEmpty(t, samples[f.name], f.name)
	}
	for name, texts := range samples {
		for _, marked := range texts {
			before, rest, _ := strings.Cut(marked, "«")
			in, after, _ := strings.Cut(rest, "»")
			text, want := before+in+after, before+Mark+after
			require.Equal(t, want, Text(text), "%s: %s", name, text)
			// Also at any depth of JSON strings, which stay JSON.
			for range 3 {
				raw, err := json.Marshal(map[string]string{"said": "é \"" + text + "\" after\n"})
				require.NoError(t, err)
				masked := Text(string(raw))
				require.True(t, json.Valid([]byte(masked)), "%s: %s", name, masked)
				require.NotContains(t, masked, in[len(in)/2:], "%s: %s", name, raw)
				text = string(raw)
			}
			require.Equal(t, Text(marked), Text(Text(marked)), name)
		}
	}
}

// A masked text of JSON stays JSON, whatever is in its strings.
func TestJSONStaysJSON(t *testing.T) {
	pieces := []string{
		"password", "=", ": ", "\"", "\\", "'", "\n", "  ", "|", ">", "hunter2abc", "aB3dE5fG7h9iJ1", "curl -u ", "user:", "<password", "<![CDATA[", "]]>", "${A:-", "}", "{\"name\":\"",
		"DB_PASSWORD", "\",\"value\":\"", "value: ", "postgres://u:", "/", "@h", "-----BEGIN PRIVATE " + "KEY-----", "MIIEvQIBADAN", "$", ",", "\r\n", "a", "&", "encryptionKey: ", "é", "`", "--user=", " -u", ".", "name: ",
	}
	random := rand.New(rand.NewPCG(1, 3))
	rounds := 20_000
	if os.Getenv("FETTLE_FULL") != "" {
		rounds = 3_000_000
	}
	for range rounds {
		var b strings.Builder
		for range 2 + random.IntN(9) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		text := b.String()
		for range 3 {
			raw, err := json.Marshal(map[string]any{"x": text, "y": 1})
			require.NoError(t, err)
			text = string(raw)
			if masked := Text(text); !json.Valid([]byte(masked)) {
				t.Fatalf("%s\nis masked as\n%s", text, masked)
			}
		}
	}
}

func TestHarmless(t *testing.T) {
	sha := strings.Repeat("ab12", 16)
	for _, text := range []string{
		"password := getPassword()", "token = next()", "token := p.next()", "token = next", "password: string", "password: str = Field(...)", "token: Token,", "Password: cfg.Password,", "password = req.FormValue(\"password\")",
		"f(token=token, password=password)", "PASSWORD=$DB_PASSWORD", "PASSWORD=${X}", "TOKEN=$(pass show x)", "--password PASSWORD", "--token string   the token", "--token-file x", "password: <your password>", "secret: true",
		`{"token": {"type": "string"}}`, `"token": "string"`, `{"max_tokens": 4096, "tokens": 12, "token": 12345}`, `{"password":null}`, `if password == "" {`, `password != x`, "the token: it is parsed", "Authorization: required",
		`req.Header.Set("Authorization", "Bearer "+token)`, "Cookie: none", "https://u:$PASSWORD@h and https://u:${P}@h and https://u:%s@h", "https://host:8080/@scope/x", "https://me@host", "git@host:me/it",
		"risk-" + strings.Repeat("assessment-", 4), ".sk-fading-circle-of-small-dots", "sk-short", "npm_config_registry_of_this_project_here", "hf_hub_download_of_a_repository_and_more", "sha256:" + sha, "token sha " + sha,
		"123e4567-e89b-12d3-a456-426614174000", "v1.2.3-0.20240121214520-5f936abd7ae8", "h1:kXTssoVb4azsVDoUiF8KvxAqrsQcQtB53DcSgta74CA=", "eyJhbGciOiJIUzI1NiJ9", "a.b.c", "-----BEGIN PRIVATE " + "KEY----- is how it begins",
		"-----BEGIN CERTIFICATE-----\n" + line64 + "\n-----END CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----\n" + line64 + "\n-----END PUBLIC KEY-----", "cache_key = \"user:1\"", "primary_key=True", "public_key: abc", "bearer of news",
		"pypi-server-something-else-that-is-long-enough", "key-value-store", "secret_santa_list", "password=", "token=\n", "PASSWORD=\"\"", "page_token: ''",
		"sort -u a:b", "curl x\nsort -u a:b", "curl x | sort -u a:b", "curl -u me x", "curl -u \"$U:$P\" x", "curl -o u:v x", "curly -u a:b", "curl --user-agent a:b", "curl -H a:b -u",
		"PublicKey: \"" + sha + "\"", "public_key = \"" + sha + "\"", "the \"pub\" token: >\n    let a_b = 1", "token: |\n  - {token: A1, head: B}",
		"cacheKey: user", "onKeyPress: handler", "sortKey: createdAt", "primaryKey: true", "byPass(x)", "<password/>", "<password type=\"x\"/>", "<password\nlabel", "password: |\n  <your password>", "password: |\nnext: line2", "a: |\n  b",
		`{"name":"password","value":"password"}`, `{"name":"TOKEN","value":"${T}"}`, `{"name":"token","value":"abc"}`, "- name: DB_PASSWORD\n  valueFrom:\n    x: y", "token, value := f()", "password\nvalue: x1", "PASSWORD=${X:-}", "PASSWORD=${X:-$Y}", "PASSWORD=${X:?missing}",
		"token: Base64String", "token: version2", "secret: db-credentials-v2", "http://localhost:8080/x@y", "http://[::1]:8080/x@y", "https://u/a:b/c@d", `http:\/\/h:80\/x@y`,
		"-----BEGIN PRIVATE " + "KEY-----\nhello", "-----BEGIN PRIVATE " + "KEY-----\nIncomprehensible\n", "-----BEGIN PRIVATE " + "KEY-----\nMIIEvQIBADAN is how",
	} {
		require.Equal(t, text, Text(text))
	}
}

// The repository's own text, whose only secrets are those of tests, stays unchanged.
func TestOwnText(t *testing.T) {
	files, lines, changed := 0, 0, 0
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "core/redact") {
			return err
		}
		switch filepath.Ext(path) {
		case ".go", ".txt", ".toml", ".sum", ".mod", ".sh", ".txtar", ".json":
		default:
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		for line := range strings.Lines(string(data)) {
			lines++
			if masked := Text(line); masked != line {
				changed++
				t.Logf("%s: %s", path, strings.TrimSpace(masked))
			}
		}
		return nil
	})
	require.NoError(t, err)
	t.Logf("%d of %d lines in %d files", changed, lines, files)
	require.LessOrEqual(t, changed*2000, lines, "too many lines have the shape of a secret")
}

// Text takes time proportional to the length of any input.
func TestNoTextIsSlow(t *testing.T) {
	for _, piece := range []string{
		"sk-", "eyJ", "password=", "password=\"", "://", "-----BEGIN PRIVATE " + "KEY-----", "-----BEGIN PRIVATE " + "KEY-----\n", ":AA", ".", "authorization:", "cookie:a", "\\", "bearer ", "token=\\\"", "a", "://a:b", "AZDO", "secret: 'a", "-u ", "curl", "curl -u", "curl -u a:", "password: |\n a", "\"password\",", "<password ", "password=${A:-", "password=\"\\\"",
	} {
		text := strings.Repeat(piece, 1<<18/len(piece))
		start := time.Now()
		Text(text)
		if took := time.Since(start); took > 2*time.Second { // some milliseconds
			t.Errorf("%q takes %v for 256 KiB", piece, took)
		}
	}
}

func BenchmarkText(b *testing.B) {
	var source strings.Builder
	paths, _ := filepath.Glob("../policy/*.go")
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			b.Fatal(err)
		}
		source.Write(data)
	}
	var log strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&log, "time=2026-11-22T10:00:00Z level=DEBUG msg=\"call of a tool\" tool=read_file id=%d duration=1.2ms path=/srv/app/main.go\n", i)
	}
	for name, text := range map[string]string{"source": source.String(), "log": log.String()} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Text(text)
			}
		})
	}
}
