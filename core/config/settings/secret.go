package settings

import (
	"regexp"
	"slices"
	"strings"
)

var (
	// secretNames is in words of a name that promise a secret.
	secretNames = regexp.MustCompile(`(?i)(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PWD|KEY|APIKEY|AUTH|AUTHORIZATION|CREDENTIALS?|CREDS|PRIVATE|CERT|COOKIE)S?(_|$)|APIKEY|PASSWORD|SECRET|TOKEN`)
	// secretValues begin as keys and tokens of known services do, or hold a
	// private key or an address with a password in it.
	secretValues = regexp.MustCompile(`^(gh[pousr]_|github_pat_|glpat-|sk-|xox[abeoprs]-|AIza|AKIA|ASIA|ya29\.|npm_|pypi-|hf_|eyJ[\w-]+\.eyJ)|-----BEGIN [A-Z ]*PRIVATE KEY|^[a-z][a-z0-9+.-]*://[^/@\s:]+:[^/@\s]+@`)
)

// LooksSecret reports whether a variable looks like a secret, by its name or by
// how its value begins.
func LooksSecret(name, value string) bool {
	return promises(name) || secretValues.MatchString(value)
}

// promises reports whether a name, of a variable, a header, a flag or a
// parameter, promises a secret.
func promises(name string) bool {
	return secretNames.MatchString(strings.NewReplacer("-", "_", ".", "_").Replace(name))
}

// providerKeys are the variables that hold keys of models' providers: of those
// that fettle itself uses, and of others that users of agents commonly have.
var providerKeys = regexp.MustCompile(`(?i)^([A-Z0-9]+_)*(GEMINI|GOOGLE|GOOGLE_AI|GOOGLE_GENAI|GOOGLE_GENERATIVE_AI|VERTEX|ANTHROPIC|CLAUDE|CLAUDE_CODE|OPENAI|AZURE_OPENAI|AZURE_AI|` +
	`MISTRAL|CODESTRAL|GROQ|COHERE|DEEPSEEK|XAI|GROK|OPENROUTER|TOGETHER|TOGETHERAI|PERPLEXITY|FIREWORKS|CEREBRAS|REPLICATE|HUGGINGFACE|HUGGINGFACEHUB|HF|NVIDIA|NVIDIA_NIM|` +
	`VOYAGE|ANYSCALE|MOONSHOT|KIMI|DASHSCOPE|QWEN|ZHIPU|ZHIPUAI|ZAI|GLM|MINIMAX|SAMBANOVA|AI21|LITELLM|AI_GATEWAY|OLLAMA|LMSTUDIO|VERCEL_AI|BEDROCK|CURSOR|COPILOT)` +
	`(_(API|ADMIN|SERVICE|OAUTH|AUTH|ACCESS|SECRET))*(_(KEY|TOKEN))(S|_?[0-9]+)?$|^AWS_BEARER_TOKEN_BEDROCK$`)

// IsProviderKey reports whether a variable, by its name, holds a key of a model's
// provider, in any case of letters.
func IsProviderKey(name string) bool { return providerKeys.MatchString(name) }

const masked = "***"

// hidden are the names below which a settings file may hold secrets as they
// are.
func hidden() []string { return []string{"env", "headers", "clientSecret", "body"} }

// Masked returns a copy of a key's value, as it is written, to show to people:
// what may be a secret is *** in it, except the names of variables.
func Masked(key string, value any) any {
	return mask(value, slices.ContainsFunc(strings.Split(key, "."), func(name string) bool { return slices.Contains(hidden(), name) }))
}

// Shown returns the value in force of a key to show to people, with the
// variables in it filled in: what may be a secret is *** in it.
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
		announced := false // the one before names what this one is
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

// maskWhole hides a text that is no name of a variable.
func maskWhole(text string) string {
	if m := variable.FindString(text); text == "" || m != "" && m == text && !strings.Contains(m, ":-") {
		return text
	}
	return masked
}

var (
	// login is what stands before the host of an address.
	login = regexp.MustCompile(`(://)([^/@\s]+)(@)`)
	// given is NAME=value, in the parameters of an address, among the arguments of
	// a command and before it, --name value in one, and a header.
	given = regexp.MustCompile(`([A-Za-z][\w.-]*)(=)("[^"]*"|'[^']*'|[^\s&#;"']+)`)
	flag  = regexp.MustCompile(`(?:^|\s)--?([A-Za-z][\w.-]*)(\s+)("[^"]*"|'[^']*'|[^\s"'-]\S*)`)
	field = regexp.MustCompile(`([A-Za-z][\w-]*)(:\s*)([^\s/"'][^"']*)`)
	// bearer is how a token stands in a header.
	bearer = regexp.MustCompile(`(?i)\b(bearer|basic)(\s+)([^\s"']+)`)
)

// maskParts hides what looks like a secret in an address or a command line.
func maskParts(text string) string {
	if secretValues.MatchString(text) && !strings.Contains(text, "://") {
		return maskWhole(text)
	}
	text = login.ReplaceAllStringFunc(text, func(m string) string {
		p := login.FindStringSubmatch(m)
		return p[1] + maskWhole(p[2]) + p[3]
	})
	for _, shape := range []*regexp.Regexp{given, flag, field} {
		text = shape.ReplaceAllStringFunc(text, func(m string) string {
			p := shape.FindStringSubmatch(m)
			if !promises(p[1]) {
				return m
			}
			return strings.TrimSuffix(m, p[3]) + maskWhole(p[3])
		})
	}
	return bearer.ReplaceAllStringFunc(text, func(m string) string {
		p := bearer.FindStringSubmatch(m)
		return p[1] + p[2] + maskWhole(p[3])
	})
}

// hiding returns a value with some texts in it hidden.
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
