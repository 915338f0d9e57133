package standard

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/anthropic"
	"github.com/fettle-dev/fettle/core/model/gemini"
	"github.com/fettle-dev/fettle/core/model/openai"
)

// Variable is an environment variable and its purpose. Its zero value names none.
type Variable struct{ Name, About string }

// Provider is a model provider that [Models] supports.
type Provider struct {
	Name    string     // prefix of model names, such as "gemini"
	Default string     // the model if none is named; "": a model must be named
	Keys    []Variable // the first that is set is used; none: the provider uses no key
	Address Variable   // server address that replaces the default one
	Others  []Variable // further variables, which are not secret

	keyless bool // an address is enough for "auto", because many local servers need no key
	ambient bool // requests are signed with credentials of the user's machine
	preset  bool // a service with the API of another provider
	open    func(access) (model.Generator, error)
}

// access is how a provider is reached.
type access struct {
	key, address string // "": not set
	client       *http.Client
	value        func(Variable) string // of a variable, unless a project's file sets it
}

// Providers lists the providers, in the order in which "auto" tries them. A provider is also found by the prefix of its
// models' names, if that identifies it: see [model.ParseName].
func Providers() []Provider {
	first := []Provider{
		{
			Name: gemini.Provider, Default: gemini.DefaultModel,
			Keys: []Variable{
				{"GEMINI_API_KEY", "the key for Google's models, and for `web_search` where no other service is set"},
				{"GOOGLE_API_KEY", "the same, where `GEMINI_API_KEY` is not set"},
			},
			Address: Variable{"GOOGLE_GEMINI_BASE_URL", "where Google's models are, if not at their public address"},
			open: func(a access) (model.Generator, error) {
				return gemini.New(gemini.Options{APIKey: a.key, BaseURL: a.address, HTTPClient: a.client})
			},
		},
		{
			Name: anthropic.Provider, Default: anthropic.DefaultModel,
			Keys:    []Variable{{"ANTHROPIC_API_KEY", "the key for Anthropic's models"}},
			Address: Variable{"ANTHROPIC_BASE_URL", "where they are, if not at their public address"},
			open: func(a access) (model.Generator, error) {
				return anthropic.New(anthropic.Options{APIKey: a.key, BaseURL: a.address, HTTPClient: a.client})
			},
		},
		{
			Name: openai.Provider, Default: openai.DefaultModel,
			Keys:    []Variable{{"OPENAI_API_KEY", "the key for OpenAI's models; a server at another address may need none"}},
			Address: Variable{"OPENAI_BASE_URL", "where OpenAI's models are, or a server that speaks as theirs does"}, keyless: true,
			open: func(a access) (model.Generator, error) {
				return openai.New(openai.Options{APIKey: a.key, BaseURL: a.address, HTTPClient: a.client})
			},
		},
		vertex(),
	}
	for _, p := range presets() {
		first = append(first, p.provider())
	}
	return first
}

// vertex is Google's models over Vertex AI.
func vertex() Provider {
	project := Variable{"GOOGLE_CLOUD_PROJECT", "the project for Google's models over Vertex AI (`vertex:NAME`)"}
	location := Variable{"GOOGLE_CLOUD_LOCATION", "its location; `global` if not set"}
	return Provider{
		Name:    "vertex",
		Address: Variable{"GOOGLE_VERTEX_BASE_URL", "where Vertex AI is, if not at its public address"},
		Others:  []Variable{project, location},
		ambient: true, preset: true,
		open: func(a access) (model.Generator, error) {
			if a.value(project) == "" {
				return nil, fault.New(fault.InvalidConfig, "standard.models", "There is no Google Cloud project for Vertex AI.",
					"Set "+project.Name+" outside of the project's .env file, and sign in with gcloud auth application-default login.")
			}
			return gemini.New(gemini.Options{Project: a.value(project), Location: a.value(location), BaseURL: a.address, HTTPClient: a.client})
		},
	}
}

// preset is a service with the chat completions API of OpenAI.
type preset struct {
	name, title string
	base        string // address of the API; "": it must be set
	key         string // variable; "": no key is sent
	keyless     bool   // a key is optional
	address     string // variable
	model       string // the default; "": none
	path        string // of the API, if base is ""
}

// presets lists the services. The addresses, variables and default models are those of the services' own documentation.
func presets() []preset {
	return []preset{
		{name: "openrouter", title: "OpenRouter", base: "https://openrouter.ai/api/v1", key: "OPENROUTER_API_KEY", address: "OPENROUTER_BASE_URL", model: "openrouter/auto"},
		{name: "groq", title: "Groq", base: "https://api.groq.com/openai/v1", key: "GROQ_API_KEY", address: "GROQ_BASE_URL", model: "openai/gpt-oss-120b"},
		{name: "xai", title: "xAI", base: "https://api.x.ai/v1", key: "XAI_API_KEY", address: "XAI_BASE_URL", model: "grok-4"},
		{name: "deepseek", title: "DeepSeek", base: "https://api.deepseek.com/v1", key: "DEEPSEEK_API_KEY", address: "DEEPSEEK_BASE_URL", model: "deepseek-chat"},
		{name: "mistral", title: "Mistral", base: "https://api.mistral.ai/v1", key: "MISTRAL_API_KEY", address: "MISTRAL_BASE_URL", model: "mistral-medium-latest"},
		{name: "together", title: "Together", base: "https://api.together.xyz/v1", key: "TOGETHER_API_KEY", address: "TOGETHER_BASE_URL", model: "openai/gpt-oss-120b"},
		{name: "azure", title: "Azure OpenAI", key: "AZURE_OPENAI_API_KEY", address: "AZURE_OPENAI_ENDPOINT", path: "/openai/v1"},
		{name: "ollama", title: "Ollama", base: "http://127.0.0.1:11434/v1", key: "OLLAMA_API_KEY", keyless: true, address: "OLLAMA_HOST"},
		{name: "lmstudio", title: "LM Studio", base: "http://127.0.0.1:1234/v1", key: "LMSTUDIO_API_KEY", keyless: true, address: "LMSTUDIO_BASE_URL"},
		{name: "vllm", title: "vLLM", base: "http://127.0.0.1:8000/v1", key: "VLLM_API_KEY", keyless: true, address: "VLLM_BASE_URL"},
	}
}

// provider returns the preset as a Provider.
func (p preset) provider() Provider {
	about := "where it is, if not at its public address"
	switch {
	case p.base == "":
		about = "its address, such as `https://NAME.openai.azure.com`"
	case p.keyless:
		about = "its address, if not `" + p.base + "`"
	}
	key := "the key for " + p.title + " (`" + p.name + ":NAME`)"
	if p.keyless {
		key += ", if the server requires one"
	}
	return Provider{
		Name: p.name, Default: p.model, preset: true, open: p.open,
		Keys: []Variable{{p.key, key}}, Address: Variable{p.address, about},
	}
}

// open creates the Generator.
func (p preset) open(a access) (model.Generator, error) {
	switch {
	case a.key == "" && !p.keyless:
		return nil, fault.New(fault.InvalidConfig, "standard.models", "There is no key for "+p.title+".", "Run fettle setup, or set "+p.key+", or use another model.")
	case a.address == "" && p.base == "":
		return nil, fault.New(fault.InvalidConfig, "standard.models", "There is no address for "+p.title+".", "Set "+p.address+", or use another model.")
	}
	base := p.base
	if a.address != "" {
		var ok bool
		if base, ok = p.at(a.address); !ok {
			return nil, fault.New(fault.InvalidConfig, "standard.models", "The address for "+p.title+" is not an HTTP address.", "Set "+p.address+" to https://HOST.")
		}
	}
	return openai.New(openai.Options{APIKey: a.key, BaseURL: base, HTTPClient: a.client})
}

// at returns the address of the API for the value of the variable. As for Ollama's own programs, the scheme may be omitted,
// and the address on which a server listens on all interfaces is that of the loopback interface.
func (p preset) at(text string) (base string, ok bool) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return "", false
	}
	if u.Hostname() == "0.0.0.0" {
		u.Host = strings.Replace(u.Host, "0.0.0.0", "127.0.0.1", 1)
	}
	if p.name == "ollama" && u.Port() == "" && u.Scheme == "http" {
		u.Host += ":11434"
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = p.path
		if base, err := url.Parse(p.base); err == nil && p.base != "" {
			u.Path = base.Path
		}
	}
	return u.String(), true
}

// Aliases returns the models that have a short name, as those of Gemini CLI and Claude Code.
func (ModelOptions) Aliases() map[string]model.Name {
	return map[string]model.Name{
		"pro":        {Provider: gemini.Provider, Model: gemini.DefaultModel},
		"flash":      {Provider: gemini.Provider, Model: "gemini-2.5-flash"},
		"flash-lite": {Provider: gemini.Provider, Model: "gemini-2.5-flash-lite"},
		"sonnet":     {Provider: anthropic.Provider, Model: anthropic.DefaultModel},
		"opus":       {Provider: anthropic.Provider, Model: "claude-opus-5"},
		"haiku":      {Provider: anthropic.Provider, Model: "claude-haiku-4-5"},
	}
}
