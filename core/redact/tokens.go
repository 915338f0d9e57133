package redact

import "strings"

// Mark replaces a secret.
const Mark = "[masked]"

// Characters of tokens.
const (
	hexadecimal = "0-9a-f"
	uppercase   = "0-9A-Z"
	letters     = "0-9A-Za-z"
	words       = "0-9A-Za-z_-"
	dotted      = "0-9A-Za-z_.-"
	base64Text  = "0-9A-Za-z+/=_-"
)

// token is a kind of secret with a fixed prefix.
type token struct {
	name     string
	prefixes []string
	chars    string                 // characters after the prefix, as ranges
	least    int                    // minimum number of characters after the prefix
	most     int                    // maximum; 0: any number
	only     func(body string) bool // further condition; nil: none
	words    bool                   // a body of plain words matches too
}

// tokens are the shapes of tokens that begin with a prefix.
var tokens = []token{
	// Models.
	{name: "OpenAI project, service and admin key", prefixes: []string{"sk-proj-", "sk-svcacct-", "sk-admin-"}, chars: words, least: 20},
	{name: "Anthropic key", prefixes: []string{"sk-ant-"}, chars: words, least: 20},
	{name: "OpenRouter key", prefixes: []string{"sk-or-"}, chars: words, least: 20},
	{name: "OpenAI, DeepSeek and other key", prefixes: []string{"sk-"}, chars: words, least: 20},
	{name: "Google API key", prefixes: []string{"AIza"}, chars: words, least: 35},
	{name: "Groq key", prefixes: []string{"gsk_"}, chars: letters, least: 20},
	{name: "xAI key", prefixes: []string{"xai-"}, chars: words, least: 20},
	{name: "Perplexity key", prefixes: []string{"pplx-"}, chars: letters, least: 20},
	{name: "Hugging Face token", prefixes: []string{"hf_", "api_org_"}, chars: letters, least: 30},
	{name: "Replicate token", prefixes: []string{"r8_"}, chars: letters, least: 20},
	{name: "Cerebras key", prefixes: []string{"csk-"}, chars: letters, least: 20},
	{name: "NVIDIA key", prefixes: []string{"nvapi-"}, chars: words, least: 20},
	{name: "Fireworks key", prefixes: []string{"fw_"}, chars: letters, least: 20},
	{name: "Together key", prefixes: []string{"tgp_v1_"}, chars: words, least: 20},
	{name: "Pinecone key", prefixes: []string{"pcsk_"}, chars: words, least: 20},
	{name: "LangSmith key", prefixes: []string{"lsv2_pt_", "lsv2_sk_"}, chars: words, least: 20},
	{name: "Jina key", prefixes: []string{"jina_"}, chars: words, least: 30},
	{name: "Tavily key", prefixes: []string{"tvly-"}, chars: words, least: 16},
	{name: "Firecrawl key", prefixes: []string{"fc-"}, chars: hexadecimal, least: 32, most: 32},
	{name: "ElevenLabs key", prefixes: []string{"sk_"}, chars: hexadecimal, least: 40, most: 64},

	// Clouds.
	{name: "AWS access key ID", prefixes: []string{"AKIA", "ASIA", "ABIA", "ACCA"}, chars: uppercase, least: 16, most: 16},
	{name: "AWS session token", prefixes: []string{"IQoJb3JpZ2lu", "FwoGZXIvYXdz", "FQoGZXIvYXdz"}, chars: base64Text, least: 40},
	{name: "AWS Bedrock key", prefixes: []string{"ABSK"}, chars: base64Text, least: 80},
	{name: "Google OAuth token", prefixes: []string{"ya29."}, chars: dotted, least: 20},
	{name: "Google OAuth client secret", prefixes: []string{"GOCSPX-"}, chars: words, least: 20},
	{name: "Google refresh token", prefixes: []string{"1//0"}, chars: words, least: 30},
	{name: "DigitalOcean token", prefixes: []string{"dop_v1_", "doo_v1_", "dor_v1_"}, chars: letters, least: 20},
	{name: "Heroku key", prefixes: []string{"HRKU-"}, chars: words, least: 20},
	{name: "Alibaba Cloud access key ID", prefixes: []string{"LTAI"}, chars: letters, least: 12, most: 30, only: mixed},
	{name: "Tencent Cloud secret ID", prefixes: []string{"AKID"}, chars: letters, least: 32, most: 40, only: mixed},
	{name: "Databricks token", prefixes: []string{"dapi"}, chars: hexadecimal, least: 32, most: 32},
	{name: "Supabase token", prefixes: []string{"sbp_", "sb_secret_"}, chars: words, least: 20},
	{name: "PlanetScale token", prefixes: []string{"pscale_tkn_", "pscale_pw_", "pscale_oauth_"}, chars: dotted, least: 20},
	{name: "Vercel token", prefixes: []string{"vcp_", "vci_", "vca_", "vcr_", "vck_", "vercel_blob_rw_"}, chars: letters + "_", least: 24},
	{name: "Netlify token", prefixes: []string{"nfp_", "nfc_", "nfo_", "nfu_"}, chars: letters, least: 20},
	{name: "Fly.io token", prefixes: []string{"FlyV1 ", "fo1_", "fm1r_", "fm1a_", "fm2_"}, chars: "," + base64Text, least: 20},
	{name: "Cloudflare token", prefixes: []string{"cfut_", "cfat_", "cfk_"}, chars: words, least: 20},
	{name: "Cloudflare origin CA key", prefixes: []string{"v1.0-"}, chars: hexadecimal + "-", least: 60},
	{name: "OpenShift token", prefixes: []string{"sha256~"}, chars: words, least: 40},
	{name: "Pulumi token", prefixes: []string{"pul-"}, chars: hexadecimal, least: 40, most: 40},
	{name: "Vault token", prefixes: []string{"hvs.", "hvb.", "hvr."}, chars: words, least: 20},
	{name: "Vault token, before 1.10", prefixes: []string{"s.", "b."}, chars: letters, least: 24, most: 24, only: mixed},
	{name: "Doppler token", prefixes: []string{"dp.pt.", "dp.st.", "dp.sa.", "dp.ct.", "dp.scim.", "dp.audit."}, chars: dotted, least: 20},
	{name: "1Password service account token", prefixes: []string{"ops_eyJ"}, chars: base64Text, least: 40},
	{name: "age identity", prefixes: []string{"AGE-SECRET-KEY-1", "AGE-SECRET-KEY-PQ-1"}, chars: uppercase, least: 20},
	{name: "Tailscale key", prefixes: []string{"tskey-"}, chars: words, least: 16},

	// Code, packages and builds.
	{name: "GitHub token", prefixes: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, chars: letters, least: 20},
	{name: "GitHub fine-grained token", prefixes: []string{"github_pat_"}, chars: letters + "_", least: 20},
	{name: "GitLab token", prefixes: []string{
		"glpat-", "glptt-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glsoat-", "glimt-", "glagent-", "glft-", "glffct-", "gloas-", "glwt-", "GR1348941",
	}, chars: dotted, least: 16},
	{name: "npm token", prefixes: []string{"npm_"}, chars: letters, least: 30},
	{name: "PyPI token", prefixes: []string{"pypi-"}, chars: words, least: 30},
	{name: "RubyGems key", prefixes: []string{"rubygems_"}, chars: hexadecimal, least: 32},
	{name: "crates.io token", prefixes: []string{"cio"}, chars: letters, least: 32, most: 32, only: mixed},
	{name: "Docker token", prefixes: []string{"dckr_pat_", "dckr_oat_"}, chars: words, least: 20},
	{name: "NuGet key", prefixes: []string{"oy2"}, chars: "0-9a-z", least: 43, most: 43},
	{name: "Clojars token", prefixes: []string{"CLOJARS_"}, chars: hexadecimal, least: 40},
	{name: "Artifactory key", prefixes: []string{"AKCp"}, chars: letters, least: 60},
	{name: "SonarQube token", prefixes: []string{"squ_", "sqp_", "sqa_"}, chars: hexadecimal, least: 40, most: 40},
	{name: "CircleCI token", prefixes: []string{"CCIPAT_", "CCIPRJ_"}, chars: letters + "_", least: 20},
	{name: "Buildkite token", prefixes: []string{"bkua_", "bkaj_", "bkct_"}, chars: letters, least: 20},
	{name: "Octopus key", prefixes: []string{"API-"}, chars: uppercase, least: 25, most: 40, only: mixed},
	{name: "Atlassian token", prefixes: []string{"ATATT3", "ATCTT3", "ATBB", "ATSTT3"}, chars: base64Text, least: 20, only: mixed},
	{name: "Postman key", prefixes: []string{"PMAK-", "PMAT-"}, chars: words, least: 20},
	{name: "Prefect key", prefixes: []string{"pnu_", "pnb_"}, chars: letters, least: 30},

	// Messages, mail and telephones.
	{name: "Slack token", prefixes: []string{
		"xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-",
	}, chars: "%" + dotted, least: 10},
	{name: "Slack webhook", prefixes: []string{"hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"}, chars: letters + "/", least: 20},
	{name: "Discord webhook", prefixes: []string{"discord.com/api/webhooks/", "discordapp.com/api/webhooks/"}, chars: "/" + words, least: 20},
	{name: "Teams webhook", prefixes: []string{"webhook.office.com/webhookb2/"}, chars: "/@" + words, least: 20},
	{name: "SendGrid key", prefixes: []string{"SG."}, chars: dotted, least: 20},
	{name: "Brevo key", prefixes: []string{"xkeysib-", "xsmtpsib-"}, chars: words, least: 20},
	{name: "Mailgun key", prefixes: []string{"key-"}, chars: hexadecimal, least: 32, most: 32},
	{name: "Twilio key", prefixes: []string{"SK"}, chars: hexadecimal, least: 32, most: 32},
	{name: "HubSpot token", prefixes: []string{"pat-na1-", "pat-na2-", "pat-eu1-", "pat-ap1-"}, chars: words, least: 20},

	// Work and payments.
	{name: "Stripe key", prefixes: []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_org_"}, chars: letters + "_", least: 10, words: true},
	{name: "Stripe or other webhook secret", prefixes: []string{"whsec_"}, chars: base64Text, least: 16},
	{name: "Shopify token", prefixes: []string{"shpat_", "shpca_", "shppa_", "shpss_", "shpua_"}, chars: letters, least: 20},
	{name: "Square token", prefixes: []string{"sq0atp-", "sq0csp-", "sq0idp-"}, chars: words, least: 20},
	{name: "Square or Facebook access token", prefixes: []string{"EAAA"}, chars: words, least: 50, only: mixed},
	{name: "PayPal and Braintree access token", prefixes: []string{"access_token$production$", "access_token$sandbox$"}, chars: letters + "$", least: 20},
	{name: "Plaid token", prefixes: []string{"access-production-", "access-sandbox-", "access-development-"}, chars: words, least: 20},
	{name: "Flutterwave key", prefixes: []string{"FLWSECK-", "FLWSECK_TEST-"}, chars: words, least: 12},
	{name: "EasyPost key", prefixes: []string{"EZAK", "EZTK"}, chars: letters, least: 50},
	{name: "Linear token", prefixes: []string{"lin_api_", "lin_oauth_", "lin_wh_"}, chars: letters, least: 20},
	{name: "Notion token", prefixes: []string{"ntn_", "secret_"}, chars: letters, least: 40},
	{name: "Figma token", prefixes: []string{"figd_", "figu_", "figo_"}, chars: words, least: 20},
	{name: "Contentful token", prefixes: []string{"CFPAT-"}, chars: words, least: 20},
	{name: "Dropbox token", prefixes: []string{"sl."}, chars: dotted, least: 60},
	{name: "Typeform token", prefixes: []string{"tfp_"}, chars: dotted, least: 30},
	{name: "ReadMe key", prefixes: []string{"rdme_"}, chars: letters, least: 30},
	{name: "Adafruit key", prefixes: []string{"aio_"}, chars: letters, least: 24},
	{name: "Mapbox token", prefixes: []string{"sk.eyJ"}, chars: dotted, least: 20},

	// Monitoring.
	{name: "New Relic key", prefixes: []string{"NRAK-", "NRII-", "NRIQ-", "NRSP-"}, chars: words, least: 20},
	{name: "Sentry token", prefixes: []string{"sntrys_", "sntryu_"}, chars: base64Text, least: 20},
	{name: "Grafana token", prefixes: []string{"glsa_", "glc_"}, chars: base64Text, least: 20},
	{name: "Grafana key, before tokens", prefixes: []string{"eyJrIjoi"}, chars: base64Text, least: 30},
}

// mixed reports whether a text has digits and letters, and its letters are of both cases, or of one
// case and not words.
func mixed(body string) bool {
	digits, lower, upper := 0, 0, 0
	for i := range len(body) {
		switch c := body[i]; {
		case '0' <= c && c <= '9':
			digits++
		case 'a' <= c && c <= 'z':
			lower++
		case 'A' <= c && c <= 'Z':
			upper++
		}
	}
	return digits > 0 && lower+upper > 0 && (lower == 0 || upper > 0 || digits > 2)
}

// plain reports whether the text after a prefix is words with dashes between them, as in names of
// styles and packages.
func plain(body string) bool {
	if strings.ContainsAny(body, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		return false
	}
	for word := range strings.FieldsFuncSeq(body, func(r rune) bool { return strings.ContainsRune("-_./", r) }) {
		if len(word) >= 20 {
			return false
		}
	}
	return true
}

// match finds a token whose prefix begins at start. No further token of this kind begins before
// read.
func (t *token) match(s string, start, end int, class *[256]bool) (found span, read int) {
	if !free(s, start) {
		return span{}, 0
	}
	stop := end
	for stop < len(s) && class[s[stop]] {
		stop++
	}
	body := s[end:stop]
	// An escape such as \n ends a token. An escape whose letter is in the class does not begin one
	// here.
	if len(body) < t.least || t.most > 0 && len(body) > t.most || !t.words && plain(body) && t.chars != hexadecimal || t.only != nil && !t.only(body) {
		return span{}, stop
	}
	return span{start, stop}, stop
}

// free reports whether a token can begin at i: the character before it is not a letter, digit or _,
// unless it belongs to an escape.
func free(s string, i int) bool {
	if i == 0 || !isWord(s[i-1]) {
		return true
	}
	if i >= 2 && s[i-2] == '\\' {
		return strings.IndexByte("nrtbf", s[i-1]) >= 0
	}
	if i >= 6 && s[i-6] == '\\' && s[i-5] == 'u' {
		for _, c := range []byte(s[i-4 : i]) {
			if !isHex(c) {
				return false
			}
		}
		return true
	}
	return false
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// classOf returns the characters that ranges such as 0-9a-f_ name.
func classOf(ranges string) *[256]bool {
	var class [256]bool
	for i := 0; i < len(ranges); i++ {
		first, last := ranges[i], ranges[i]
		if i+2 < len(ranges) && ranges[i+1] == '-' {
			last = ranges[i+2]
			i += 2
		}
		for c := int(first); c <= int(last); c++ {
			class[c] = true
		}
	}
	return &class
}
