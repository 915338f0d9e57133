package highlight

// data returns the languages of data and markup, which have rules of their own.
func data() []*language {
	text1 := func(pattern string) rule { return rule{pattern, kinds(text), ""} }
	quoted := `"(?:\\.|[^"\\\n])*"?|'[^'\n]*'?`
	return []*language{
		{
			names: []string{"json", "jsonc", "json5", "jsonl"}, files: []string{".json", ".jsonc", ".json5", ".jsonl", ".ndjson", ".ipynb"},
			own: states{
				"root": {
					{`//[^\n]*`, kinds(comment), ""}, {`/\*`, kinds(comment), "comment"}, {`(?:"(?:\\.|[^"\\\n])*"|\w+)(?=\s*:)`, kinds(key), ""},
					{`"(?:\\.|[^"\\\n])*"?`, kinds(str), ""}, {`-?\d[\d.eE+-]*|\b(?:true|false|null)\b`, kinds(number), ""}, text1(`[\s{}\[\],:]+`),
				},
				"comment": {{`\*/`, kinds(comment), "pop"}, {`[^*\n]+`, kinds(comment), ""}},
			},
		}, {
			names: []string{"yaml", "yml"}, files: []string{".yaml", ".yml"},
			own: states{"root": {
				{`(?<=\s|^)#[^\n]*`, kinds(comment), ""}, {`^(?:---|\.\.\.)`, kinds(operator), ""}, {`(?:"(?:\\.|[^"\\\n])*"|'[^'\n]*'|[^\s#:,{}\[\]"'&*!|>-][^\n:#,{}\[\]]*|-[^\s:][^\n:]*)(?=:(?:\s|$))`, kinds(key), ""},
				{quoted, kinds(str), ""}, {`[&*][\w-]+|!+\w*`, kinds(builtin), ""}, {`(?<=[\s,\[])(?:true|false|null|yes|no|on|off|~|-?\d[\d._eE+-]*)(?=\s*(?:[,\]}#]|$))`, kinds(number), ""},
				{`[|>][+-]?\d*(?=\s*$)|-(?=\s)|:(?=\s)|[,{}\[\]?]`, kinds(operator), ""}, text1(`\s+`), {`(?:[^\s:#,{}\[\]]|:(?=\S)|(?<=\S)#)+`, kinds(str), ""},
			}},
		}, {
			names: []string{"toml"}, files: []string{".toml", "cargo.lock", "poetry.lock"},
			own: states{
				"root": {
					{`#[^\n]*`, kinds(comment), ""}, {`^\s*\[\[?[^\]\n]*\]\]?`, kinds(heading), ""}, {`(?:[\w.-]+|"[^"\n]*"|'[^'\n]*')(?=\s*(?:\.[\w."']+\s*)?=)`, kinds(key), ""},
					{`"""`, kinds(str), "stringd"}, {`'''`, kinds(str), "strings"}, {quoted, kinds(str), ""},
					{`\b(?:true|false)\b|[+-]?\d[\w.:+-]*`, kinds(number), ""}, {`=`, kinds(operator), ""}, text1(`[\s\[\]{},]+`),
				},
				"stringd": {{`"""`, kinds(str), "pop"}, {`\\.|[^"\\]+`, kinds(str), ""}},
				"strings": {{`'''`, kinds(str), "pop"}, {`[^']+`, kinds(str), ""}},
			},
		}, {
			names: []string{"ini", "cfg", "conf", "properties", "dotenv", "env", "editorconfig"}, files: []string{".ini", ".cfg", ".conf", ".properties", ".env", ".editorconfig", ".gitconfig"},
			own: states{"root": {
				{`^\s*[#;][^\n]*`, kinds(comment), ""}, {`^\s*\[[^\]\n]*\]`, kinds(heading), ""}, {`^(\s*(?:export\s+)?)([^=:\n\[]+)(=|:)`, kinds(keyword, key, operator), ""},
				{quoted, kinds(str), ""}, text1(`\s+|\w+`),
			}},
		}, {
			names: []string{"html", "xml", "svg", "xhtml", "vue", "svelte", "plist"}, files: []string{".html", ".htm", ".xml", ".svg", ".xhtml", ".vue", ".svelte", ".plist", ".xsd", ".csproj"},
			own: states{
				"root": {
					{`<!--`, kinds(comment), "comment"}, {`<[!?][^>\n]*>?`, kinds(keyword), ""}, {`(</?)([\w:.-]+)`, kinds(operator, tag), "tag"},
					{`&[#\w]+;`, kinds(number), ""}, text1(`[^<&]+`),
				},
				"comment": {{`-->`, kinds(comment), "pop"}, {`[^-]+`, kinds(comment), ""}},
				"tag": {
					{`/?>`, kinds(operator), "pop"}, {`[\w:@.#*()\[\]-]+(?=\s*=)`, kinds(key), ""}, {`=`, kinds(operator), ""}, {`"`, kinds(str), "stringd"}, {`'`, kinds(str), "strings"},
					{`[\w:@.-]+`, kinds(key), ""}, text1(`\s+`),
				},
				"stringd": {{`"`, kinds(str), "pop"}, {`[^"]+`, kinds(str), ""}},
				"strings": {{`'`, kinds(str), "pop"}, {`[^']+`, kinds(str), ""}},
			},
		}, {
			names: []string{"css", "scss", "less", "sass"}, files: []string{".css", ".scss", ".less", ".sass"},
			own: states{
				"root": append(styleRules(),
					rule{`\{`, kinds(text), "block"}, rule{`[.#&][\w-]+|::?[\w-]+|\[[^\]\n]*\]`, kinds(key), ""}, rule{`[\w-]+|\*`, kinds(tag), ""}, text1(`\s+`)),
				"block": append([]rule{{`([\w-]+)(\s*:(?=[^\w:]))`, kinds(key, operator), "value"}}, append(styleRules(),
					rule{`\}`, kinds(text), "pop"}, rule{`[^\s{};:]+[^{};\n]*(?=\{)`, kinds(tag), ""}, rule{`\{`, kinds(text), "block"},
					rule{`([\w-]+)(\s*:)`, kinds(key, operator), "value"}, text1(`\s+`))...),
				"value": append(styleRules(),
					rule{`;`, kinds(text), "pop"}, rule{`(?=\})`, kinds(text), "pop"}, rule{`#[\da-fA-F]+\b|[+-]?\.?\d[\d.]*(?:%|\w+)?`, kinds(number), ""},
					rule{`[\w-]+(?=\()`, kinds(function), ""}, rule{`!important\b`, kinds(keyword), ""}, text1(`[a-zA-Z][\w-]*|\s+`)),
				"comment": {{`\*/`, kinds(comment), "pop"}, {`[^*\n]+`, kinds(comment), ""}},
			},
		}, {
			names: []string{"markdown", "md", "mdx"}, files: []string{".md", ".markdown", ".mdx"},
			own: states{
				"root": {
					{`^#{1,6}\s[^\n]*`, kinds(heading), ""}, {"^\\s*(?:```|~~~)[^\\n]*", kinds(comment), "stringf"}, {`^\s*>[^\n]*`, kinds(comment), ""},
					{`^(\s*)([-*+]|\d+[.)])(\s)(\[[ xX]\])?`, kinds(text, operator, text, operator), ""}, {"`[^`\\n]+`", kinds(str), ""},
					{`\*\*[^*\n]+\*\*|__[^_\n]+__`, kinds(keyword), ""}, {`(!?\[)([^\]\n]*)(\]\()([^)\n]*)(\))`, kinds(operator, tag, operator, key, operator), ""},
					{`https?://[^\s)>]+`, kinds(key), ""}, text1(`\w+|\s+`),
				},
				"stringf": {{"^\\s*(?:```|~~~)\\s*$", kinds(comment), "pop"}, {"[^\\n]+", kinds(text), ""}, text1(`\n`)},
			},
		}, {
			names: []string{"diff", "patch", "udiff"}, files: []string{".diff", ".patch"},
			own: states{"root": {
				{`^(?:diff |index |--- |\+\+\+ )[^\n]*`, kinds(heading), ""}, {`^@@[^\n]*`, kinds(key), ""}, {`^\+[^\n]*`, kinds(added), ""}, {`^-[^\n]*`, kinds(removed), ""},
				text1(`[^\n]+`),
			}},
		}, {
			names: []string{"dockerfile", "docker", "containerfile"}, files: []string{"dockerfile", "containerfile", ".dockerfile"}, anyCase: true,
			own: states{"root": {
				{`^\s*#[^\n]*`, kinds(comment), ""},
				{`^\s*(?:FROM|RUN|CMD|LABEL|MAINTAINER|EXPOSE|ENV|ADD|COPY|ENTRYPOINT|VOLUME|USER|WORKDIR|ARG|ONBUILD|STOPSIGNAL|HEALTHCHECK|SHELL)\b`, kinds(keyword), ""},
				{`(?<=\s)AS(?=\s)`, kinds(keyword), ""}, {`\$\{[^}\n]*\}|\$\w+`, kinds(builtin), ""}, {quoted, kinds(str), ""}, {`(?<=\s)--[\w-]+`, kinds(key), ""},
				{`\b[\w.]+(?==)`, kinds(key), ""}, {`&&|\|\|?|\\$|[;=>]`, kinds(operator), ""}, text1(`\w+|\s+`),
			}},
		}, {
			names: []string{"make", "makefile", "mk"}, files: []string{"makefile", "gnumakefile", ".mk", ".mak"},
			own: states{"root": {
				{`#[^\n]*`, kinds(comment), ""}, {`\$[({][^)}\n]*[)}]|\$\$?[\w@<^+?*%]`, kinds(builtin), ""},
				{`^-?(?:include|ifeq|ifneq|ifdef|ifndef|else|endif|define|endef|export|unexport|override|vpath)\b`, kinds(keyword), ""},
				{`^([\w.-]+)(\s*)([:+?!]*=)`, kinds(key, text, operator), ""}, {`^(\.[A-Z_]+)(:)`, kinds(keyword, operator), ""}, {`^([^\s:#=][^:#=\n]*)(::?)`, kinds(function, operator), ""},
				{quoted, kinds(str), ""}, {`^\t[@-]+`, kinds(operator), ""}, text1(`\w+|\s+`),
			}},
		},
	}
}

// styleRules are the rules of style sheets in every state.
func styleRules() []rule {
	return []rule{
		{`/\*`, kinds(comment), "comment"}, {`//[^\n]*`, kinds(comment), ""}, {`@[\w-]+`, kinds(keyword), ""}, {`\$[\w-]+|--[\w-]+`, kinds(builtin), ""},
		{`"[^"\n]*"?|'[^'\n]*'?`, kinds(str), ""},
	}
}
