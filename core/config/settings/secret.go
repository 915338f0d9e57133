package settings

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
)

var (
	// secretNames matches words of a name that indicate a secret.
	secretNames = lazyregexp.New(`(?i)(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PWD|KEY|APIKEY|AUTH|AUTHORIZATION|CREDENTIALS?|CREDS|PRIVATE|CERT|COOKIE)S?(_|$)|APIKEY|PASSWORD|SECRET|TOKEN`)
	// secretValues matches values that begin like keys and tokens of known
	// services, or that contain a private key or an address with a password.
	secretValues = lazyregexp.New(`^(gh[pousr]_|github_pat_|glpat-|sk-|xox[abeoprs]-|AIza|AKIA|ASIA|ya29\.|npm_|pypi-|hf_|eyJ[\w-]+\.eyJ)|-----BEGIN [A-Z ]*PRIVATE KEY|^[a-z][a-z0-9+.-]*://[^/@\s:]+:[^/@\s]+@`)
)

// LooksSecret reports whether a variable looks like a secret, by its name or by
// the beginning of its value.
func LooksSecret(name, value string) bool {
	return promises(name) || secretValues().MatchString(value)
}

// promises reports whether a name, of a variable, a header, a flag or a
// parameter, indicates a secret.
func promises(name string) bool {
	return secretNames().MatchString(strings.NewReplacer("-", "_", ".", "_").Replace(name))
}

// providerKeys matches variables that hold keys of model providers: those that
// fettle uses, and others that users of agents commonly have. Each contains _KEY or
// _TOKEN, which [IsProviderKey] requires.
var providerKeys = lazyregexp.New(`(?i)^([A-Z0-9]+_)*(GEMINI|GOOGLE|GOOGLE_AI|GOOGLE_GENAI|GOOGLE_GENERATIVE_AI|VERTEX|ANTHROPIC|CLAUDE|CLAUDE_CODE|OPENAI|AZURE_OPENAI|AZURE_AI|` +
	`MISTRAL|CODESTRAL|GROQ|COHERE|DEEPSEEK|XAI|GROK|OPENROUTER|TOGETHER|TOGETHERAI|PERPLEXITY|FIREWORKS|CEREBRAS|REPLICATE|HUGGINGFACE|HUGGINGFACEHUB|HF|NVIDIA|NVIDIA_NIM|` +
	`VOYAGE|ANYSCALE|MOONSHOT|KIMI|DASHSCOPE|QWEN|ZHIPU|ZHIPUAI|ZAI|GLM|MINIMAX|SAMBANOVA|AI21|LITELLM|AI_GATEWAY|OLLAMA|LMSTUDIO|VLLM|VERCEL_AI|BEDROCK|CURSOR|COPILOT)` +
	`(_(API|ADMIN|SERVICE|OAUTH|AUTH|ACCESS|SECRET))*(_(KEY|TOKEN))(S|_?[0-9]+)?$|^AWS_BEARER_TOKEN_BEDROCK$`)

// IsProviderKey reports whether a variable's name, in any case, is that of a
// model provider's key.
func IsProviderKey(name string) bool {
	other := strings.IndexFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 // such as the Kelvin sign, a K in any case
	upper := strings.ToUpper(name)
	return (other || strings.Contains(upper, "_KEY") || strings.Contains(upper, "_TOKEN")) && providerKeys().MatchString(name)
}

const masked = "***"

// hidden returns the names below which a settings file may contain literal
// secrets.
func hidden() []string { return []string{"env", "headers", "clientSecret", "body"} }

// Masked returns a copy of a key's value as written, for display: possible
// secrets in it are replaced by ***, names of variables are kept.
func Masked(key string, value any) any {
	return mask(value, slices.ContainsFunc(strings.Split(key, "."), func(name string) bool { return slices.Contains(hidden(), name) }))
}

// Shown returns the effective value of a key, with variables expanded, for
// display: possible secrets in it are replaced by ***.
func (r *Result) Shown(key string) any {
	var secrets []string
	for _, o := range r.origins[key] {
		secrets = append(secrets, o.secrets...)
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	return Masked(key, hiding(r.Value(key), secrets))
}

func mask(value any, secret bool) any {
	switch v := value.(type) {
	case string:
		if secret {
			return maskWhole(v)
		}
		return maskParts(v)
	case []any:
		list := make([]any, len(v))
		announced := false // the previous argument names this one
		for i, part := range v {
			list[i] = mask(part, secret || announced)
			text, ok := part.(string)
			announced = ok && strings.HasPrefix(text, "-") && !strings.ContainsAny(text, "= ") && promises(strings.TrimLeft(text, "-"))
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, part := range v {
			object[name] = mask(part, secret || slices.Contains(hidden(), name))
		}
		return object
	}
	return value
}

// maskWhole masks a text that is not the name of a variable.
func maskWhole(text string) string {
	if m := variable().FindString(text); text == "" || m != "" && m == text && !strings.Contains(m, ":-") {
		return text
	}
	return masked
}

var (
	// login matches the credentials before the host of an address.
	login = lazyregexp.New(`(://)([^/@\s]+)(@)`)
	// given matches NAME=value in the parameters of an address and around the
	// arguments of a command, --name value, and a header.
	given = lazyregexp.New(`([A-Za-z][\w.-]*)(=)("[^"]*"|'[^']*'|[^\s&#;"']+)`)
	flag  = lazyregexp.New(`(?:^|\s)--?([A-Za-z][\w.-]*)(\s+)("[^"]*"|'[^']*'|[^\s"'-]\S*)`)
	field = lazyregexp.New(`([A-Za-z][\w-]*)(:\s*)([^\s/"'][^"']*)`)
	// bearer matches a token in a header.
	bearer = lazyregexp.New(`(?i)\b(bearer|basic)(\s+)([^\s"']+)`)
)

// maskParts masks text that looks like a secret in an address or a command line.
func maskParts(text string) string {
	if secretValues().MatchString(text) && !strings.Contains(text, "://") {
		return maskWhole(text)
	}
	text = login().ReplaceAllStringFunc(text, func(m string) string {
		p := login().FindStringSubmatch(m)
		return p[1] + maskWhole(p[2]) + p[3]
	})
	for _, shape := range []*regexp.Regexp{given(), flag(), field()} {
		text = shape.ReplaceAllStringFunc(text, func(m string) string {
			p := shape.FindStringSubmatch(m)
			if !promises(p[1]) {
				return m
			}
			return strings.TrimSuffix(m, p[3]) + maskWhole(p[3])
		})
	}
	return bearer().ReplaceAllStringFunc(text, func(m string) string {
		p := bearer().FindStringSubmatch(m)
		return p[1] + p[2] + maskWhole(p[3])
	})
}

// hiding returns a value with the given texts masked.
func hiding(value any, texts []string) any {
	switch v := value.(type) {
	case string:
		for _, t := range texts {
			v = strings.ReplaceAll(v, t, masked)
		}
		return v
	case []any:
		list := make([]any, len(v))
		for i, part := range v {
			list[i] = hiding(part, texts)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, part := range v {
			object[name] = hiding(part, texts)
		}
		return object
	}
	return value
}

// Needed returns variables whose names look secret although their values are not,
// or that programs require.
func Needed() []string { return []string{"PWD", "OLDPWD", "SSH_AUTH_SOCK", "XAUTHORITY"} }

// Secrets returns the values in an environment, of entries NAME=VALUE, that must
// be masked in recordings, judged by the variables' names and the form of the
// values. Paths and values that could be a word are not returned, because they
// occur in any text.
func Secrets(environ []string) []string {
	var secrets []string
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if slices.Contains(Needed(), name) || !LooksSecret(name, value) {
			continue
		}
		if value = strings.TrimSpace(value); !ordinary().MatchString(value) {
			secrets = append(secrets, value)
		}
		if address, err := url.Parse(value); err == nil && address.User != nil {
			password, _ := address.User.Password()
			secrets = append(secrets, password)
		}
	}
	return secrets
}

// ordinary matches paths, words, and small numbers.
var ordinary = lazyregexp.New(`^(~?/|\.|[A-Za-z]:[\\/])|^([A-Za-z]?[a-z]{0,20}|[A-Z]{0,20}|[0-9]{0,11})$`)
