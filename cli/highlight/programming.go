package highlight

// Marks that languages share.
var (
	slashes = []string{`//`}
	hash    = []string{`#`}
	starred = span{`/\*`, `\*/`}
	double  = quote{begin: `"`, end: `"`, line: true}
	single  = quote{begin: `'`, end: `'`, line: true}
)

// programming returns the programming languages.
func programming() []*language {
	script := `async await break case catch class const continue debugger default delete do else export extends finally for from function get if import in ` +
		`instanceof let new of return set static super switch throw try typeof var void while with yield`
	scriptBuiltins := `this console window document process module require globalThis Object Array String Boolean Promise Map Set Math JSON Date RegExp Error Symbol`
	scriptQuotes := []quote{{begin: "`", end: "`", code: span{`\$\{`, `\}`}}, double, single}
	scriptFirst := []rule{
		{`(?<=[=(,:\[!&|?{};]\s?)/(?![/*\s])(?:\\.|\[[^\]\n]*\]|[^/\\\n\[])+/[a-z]*`, kinds(str), ""},
		{`(?<![\w)\]])(</?)([A-Za-z][\w.-]*)(?=[\s/>])`, kinds(operator, tag), ""},
		{`@[\w.]+`, kinds(key), ""},
	}
	cKeywords := `alignas alignof asm auto break case const continue default do else enum extern for goto if inline register restrict return sizeof static struct ` +
		`switch typedef union volatile while _Alignas _Atomic _Generic _Noreturn _Static_assert`
	cTypes := `void char short int long float double signed unsigned bool size_t ssize_t ptrdiff_t intptr_t uintptr_t int8_t int16_t int32_t int64_t uint8_t uint16_t ` +
		`uint32_t uint64_t FILE wchar_t`
	cFirst := []rule{
		{`(#\s*include\s*)(<[^>\n]*>|"[^"\n]*")`, kinds(keyword, str), ""},
		{`#\s*[a-z]+\b`, kinds(keyword), ""},
	}
	char := quote{begin: `L?'`, end: `'`, line: true}
	return []*language{
		{
			names: []string{"go", "golang"}, files: []string{".go"}, capitals: true, calls: true, comments: slashes, block: starred,
			keywords: `break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var`,
			types:    `any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint uint8 uint16 uint32 uint64 uintptr`,
			builtins: `append cap clear close complex copy delete imag len make max min new panic print println real recover`,
			literals: `true false nil iota`, quotes: []quote{{begin: "`", end: "`", raw: true}, double, single},
		}, {
			names: []string{"python", "py", "python3", "py3"}, files: []string{".py", ".pyi", ".pyw"}, capitals: true, calls: true, comments: hash,
			keywords: `and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass ` +
				`raise return try while with yield`,
			types: `bool bytes complex dict float frozenset int list object set str tuple type`,
			builtins: `self cls super print len range open enumerate zip map filter sorted reversed sum min max any all isinstance issubclass hasattr getattr setattr repr iter ` +
				`next input staticmethod classmethod property __name__ __init__ __file__`,
			literals: `True False None Ellipsis`, first: []rule{{`@[\w.]+`, kinds(key), ""}},
			quotes: []quote{
				{begin: `[rRbBuUfF]{0,2}"""`, end: `"""`}, {begin: `[rRbBuUfF]{0,2}'''`, end: `'''`},
				{begin: `[rRbBuUfF]{0,2}"`, end: `"`, line: true}, {begin: `[rRbBuUfF]{0,2}'`, end: `'`, line: true},
			},
		}, {
			names: []string{"javascript", "js", "jsx", "mjs", "cjs", "node"}, files: []string{".js", ".jsx", ".mjs", ".cjs"}, capitals: true, calls: true,
			comments: slashes, block: starred, word: `[\p{L}_$][\p{L}\p{N}_$]*`, keywords: script, builtins: scriptBuiltins,
			literals: `true false null undefined NaN Infinity`, quotes: scriptQuotes, first: scriptFirst,
		}, {
			names: []string{"typescript", "ts", "tsx"}, files: []string{".ts", ".tsx", ".mts", ".cts"}, capitals: true, calls: true,
			comments: slashes, block: starred, word: `[\p{L}_$][\p{L}\p{N}_$]*`,
			keywords: script + ` abstract as asserts declare enum implements infer interface is keyof namespace override private protected public readonly satisfies type unique`,
			types:    `any bigint boolean never number object string symbol unknown`, builtins: scriptBuiltins,
			literals: `true false null undefined NaN Infinity`, quotes: scriptQuotes, first: scriptFirst,
		}, {
			names: []string{"java"}, files: []string{".java"}, capitals: true, calls: true, comments: slashes, block: starred,
			keywords: `abstract assert break case catch class continue default do else enum exports extends final finally for goto if implements import instanceof interface ` +
				`module native new non-sealed package permits private protected public record requires return sealed static strictfp super switch synchronized this throw throws ` +
				`transient try var void volatile when while yield`,
			types: `boolean byte char double float int long short`, literals: `true false null`, first: []rule{{`@[\w.]+`, kinds(key), ""}},
			quotes: []quote{{begin: `"""`, end: `"""`}, double, single},
		}, {
			names: []string{"kotlin", "kt", "kts"}, files: []string{".kt", ".kts"}, capitals: true, calls: true, comments: slashes, block: starred, nested: true,
			keywords: `abstract actual annotation as break by catch class companion const constructor continue crossinline data do dynamic else enum expect external final ` +
				`finally for fun get if import in infix init inline inner interface internal is lateinit noinline object open operator out override package private protected ` +
				`public reified return sealed set super suspend tailrec this throw try typealias val value var vararg when where while`,
			literals: `true false null`, first: []rule{{`@[\w.:]+`, kinds(key), ""}},
			quotes: []quote{{begin: `"""`, end: `"""`, raw: true, code: span{`\$\{`, `\}`}}, {begin: `"`, end: `"`, line: true, inside: `\$\w+`, code: span{`\$\{`, `\}`}}, single},
		}, {
			names: []string{"c", "h"}, files: []string{".c", ".h"}, calls: true, capitals: true, comments: slashes, block: starred,
			keywords: cKeywords, types: cTypes, literals: `true false NULL nullptr`, quotes: []quote{{begin: `(?:u8|[uUL])?"`, end: `"`, line: true}, char}, first: cFirst,
		}, {
			names: []string{"c++", "cpp", "cxx", "hpp"}, files: []string{".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".inl"}, calls: true, capitals: true,
			comments: slashes, block: starred,
			keywords: cKeywords + ` and catch class co_await co_return co_yield concept consteval constexpr constinit const_cast decltype delete dynamic_cast explicit export ` +
				`final friend import module mutable namespace new noexcept not operator or override private protected public reinterpret_cast requires static_assert ` +
				`static_cast template this thread_local throw try typeid typename using virtual`,
			types: cTypes + ` char8_t char16_t char32_t string string_view vector map set unique_ptr shared_ptr optional variant`, builtins: `std cout cerr cin endl`,
			literals: `true false nullptr NULL`, quotes: []quote{{begin: `R"\(`, end: `\)"`, raw: true}, {begin: `(?:u8|[uUL])?"`, end: `"`, line: true}, char}, first: append([]rule{{`\b\d+(?:'\d+)+\w*`, kinds(number), ""}}, cFirst...),
		}, {
			names: []string{"c#", "csharp", "cs"}, files: []string{".cs"}, capitals: true, calls: true, comments: slashes, block: starred,
			keywords: `abstract as async await base break case catch checked class const continue default delegate do else enum event explicit extern finally fixed for ` +
				`foreach get goto if implicit in init interface internal is lock namespace new operator out override params partial private protected public readonly record ` +
				`ref required return sealed set sizeof stackalloc static struct switch this throw try typeof unchecked unsafe using var virtual volatile when where while with yield`,
			types:    `bool byte char decimal double dynamic float int long nint nuint object sbyte short string uint ulong ushort void`,
			literals: `true false null`, first: []rule{{`#\s*[a-z]+\b[^\n]*`, kinds(keyword), ""}, {`^(\s*)(\[[A-Z][\w.]*)`, kinds(text, key), ""}},
			quotes: []quote{{begin: `\$*"""`, end: `"""`, raw: true}, {begin: `(?:@\$?|\$@)"`, end: `"`, raw: true}, {begin: `\$?"`, end: `"`, line: true}, single},
		}, {
			names: []string{"rust", "rs"}, files: []string{".rs"}, capitals: true, calls: true, comments: slashes, block: starred, nested: true,
			keywords: `as async await break const continue crate dyn else enum extern fn for if impl in let loop match mod move mut pub ref return self Self static struct super ` +
				`trait type union unsafe use where while`,
			types:    `bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize`,
			literals: `true false`, first: []rule{{`#!?\[[^\]\n]*\]`, kinds(key), ""}, {`b?'(?:\\[^'\n]+|[^\\'\n])'`, kinds(str), ""}, {`'\w+`, kinds(key), ""}},
			quotes: []quote{{begin: `b?r#+"`, end: `"#+`, raw: true}, {begin: `b?r"`, end: `"`, raw: true}, {begin: `[bc]?"`, end: `"`}},
		}, {
			names: []string{"ruby", "rb"}, files: []string{".rb", ".rake", ".gemspec", "gemfile", "rakefile"}, capitals: true, comments: hash, calls: true,
			block: span{`^=begin\b`, `^=end\b`}, word: `[\p{L}_][\p{L}\p{N}_]*[?!]?`,
			keywords: `BEGIN END alias and begin break case class def defined? do else elsif end ensure for if in module next not or redo rescue retry return self super then ` +
				`undef unless until when while yield`,
			builtins: `attr_accessor attr_reader attr_writer extend include lambda loop p prepend print private proc protected public puts raise require require_relative`,
			literals: `true false nil __FILE__ __LINE__`,
			first:    []rule{{`(?<![:\w]):[\p{L}_]\w*[?!]?`, kinds(key), ""}, {`\b[\p{L}_]\w*:(?=[\s,)])`, kinds(key), ""}, {`@@?\w+|\$\w+`, kinds(builtin), ""}},
			quotes:   []quote{{begin: `"`, end: `"`, code: span{`#\{`, `\}`}}, {begin: `'`, end: `'`}, {begin: "`", end: "`", code: span{`#\{`, `\}`}}},
		}, {
			names: []string{"php"}, files: []string{".php", ".phtml"}, capitals: true, calls: true, comments: []string{`//`, `#(?!\[)`}, block: starred,
			keywords: `abstract and array as break callable case catch class clone const continue declare default do echo else elseif enum extends final finally fn for foreach ` +
				`function global goto if implements include include_once instanceof insteadof interface isset list match namespace new or print private protected public readonly ` +
				`require require_once return static switch throw trait try unset use var while xor yield`,
			types: `bool float int iterable mixed never object string void`, builtins: `self parent`, literals: `true false null TRUE FALSE NULL`,
			first:  []rule{{`<\?(?:php|=)?|\?>`, kinds(tag), ""}, {`\$\$?\w+`, kinds(builtin), ""}, {`#\[[^\]\n]*\]`, kinds(key), ""}},
			quotes: []quote{{begin: `"`, end: `"`, inside: `\$\w+`}, {begin: `'`, end: `'`}},
		}, {
			names: []string{"swift"}, files: []string{".swift"}, capitals: true, calls: true, comments: slashes, block: starred, nested: true,
			keywords: `actor any as associatedtype async await borrowing break case catch class consuming continue convenience default defer deinit do else enum extension ` +
				`fallthrough fileprivate final for func get guard if import in indirect infix init inout internal is isolated lazy let mutating nonisolated nonmutating open ` +
				`operator optional override postfix precedencegroup prefix private protocol public repeat required rethrows return set some static struct subscript super switch ` +
				`throw throws try typealias unowned var weak where while`,
			builtins: `self Self print`, literals: `true false nil`, first: []rule{{`[@#]\w+`, kinds(key), ""}},
			quotes: []quote{{begin: `#*"""`, end: `"""#*`, code: span{`\\\(`, `\)`}}, {begin: `"`, end: `"`, line: true}},
		}, {
			names: []string{"bash", "sh", "shell", "zsh", "ksh", "console", "shell-session", "terminal"}, comments: []string{`(?<![\w$\\{])#`}, word: `[\p{L}_][\p{L}\p{N}_-]*`,
			files:    []string{".sh", ".bash", ".zsh", ".ksh", ".bashrc", ".zshrc", ".profile", ".envrc"},
			keywords: `case do done elif else esac fi for function if in select then time until while`,
			builtins: `alias bg break cd command continue declare echo eval exec exit export false fg getopts hash jobs kill let local printf pushd popd pwd read readonly return ` +
				`set shift source test trap true type typeset ulimit umask unalias unset wait sudo`,
			first: []rule{
				{`\\[\s\S]`, kinds(text), ""}, {`\$\{[^}\n]*\}|\$\w+|\$[@*#?$!-]`, kinds(builtin), ""}, {`\b\w+(?==)`, kinds(key), ""},
				{`(?<=\s)--?[\p{L}\p{N}][\w-]*`, kinds(key), ""}, {`^\$ `, kinds(comment), ""}, {`(?<=[\w./~-])[#]`, kinds(text), ""},
			},
			quotes: []quote{{begin: `\$?"`, end: `"`, inside: `\$\{[^}\n]*\}|\$\w+|\$[@*#?$!-]`}, {begin: `'`, end: `'`, raw: true}},
		}, {
			names: []string{"powershell", "ps1", "pwsh"}, files: []string{".ps1", ".psm1"}, anyCase: true, comments: hash, block: span{`<#`, `#>`}, word: `[\p{L}_][\p{L}\p{N}_-]*`,
			keywords: `begin break catch class continue do else elseif end exit filter finally for foreach function if in param process return switch throw trap try until using while`,
			first:    []rule{{`\$[\w:]+|\$\{[^}\n]*\}`, kinds(builtin), ""}, {`(?<=\s)-\w+`, kinds(key), ""}},
			quotes:   []quote{{begin: `"`, end: `"`, inside: `\$\w+`}, {begin: `'`, end: `'`, raw: true}},
		}, {
			names: []string{"sql", "postgresql", "postgres", "mysql", "sqlite", "plsql"}, files: []string{".sql"}, anyCase: true, comments: []string{`--`}, block: starred, calls: true,
			keywords: `add all alter and as asc begin between by cascade case check column commit conflict constraint create cross database default delete desc distinct do drop else ` +
				`end except exists explain fetch filter first for foreign from full function grant group having if ilike in index inner insert intersect into is join key left like ` +
				`limit materialized natural not nothing nulls offset on or order outer over partition primary procedure recursive references rename replace returning returns revoke ` +
				`right rollback row rows schema select sequence set table temporary then to transaction trigger truncate union unique update using vacuum values view when where window with`,
			types: `bigint blob boolean bytea char date datetime decimal double float int integer interval json jsonb numeric real serial smallint text time timestamp timestamptz ` +
				`uuid varchar`,
			literals: `true false null`, quotes: []quote{{begin: `'`, end: `'`, raw: true}, {begin: `"`, end: `"`, raw: true, line: true}},
		}, {
			names: []string{"lua"}, files: []string{".lua"}, calls: true, comments: []string{`--(?!\[\[)`}, block: span{`--\[\[`, `\]\]`},
			keywords: `and break do else elseif end for function goto if in local not or repeat return then until while`,
			builtins: `assert error ipairs pairs pcall print require select self setmetatable string table tonumber tostring type`, literals: `true false nil`,
			quotes: []quote{{begin: `\[\[`, end: `\]\]`, raw: true}, double, single},
		}, {
			names: []string{"protobuf", "proto"}, files: []string{".proto"}, capitals: true, comments: slashes, block: starred,
			keywords: `enum extend import map message oneof option optional package public repeated required reserved returns rpc service stream syntax to`,
			types:    `bool bytes double fixed32 fixed64 float int32 int64 sfixed32 sfixed64 sint32 sint64 string uint32 uint64`, literals: `true false`,
			quotes: []quote{double, single},
		}, {
			names: []string{"hcl", "terraform", "tf"}, files: []string{".tf", ".hcl", ".tfvars"}, calls: true, comments: []string{`#`, `//`}, block: starred,
			keywords: `resource data variable output provider module locals terraform for in if`, types: `string number bool list map object set any`,
			literals: `true false null`, first: []rule{{`^(\s*)([\w-]+)(?=\s*=[^=])`, kinds(text, key), ""}},
			quotes: []quote{{begin: `"`, end: `"`, line: true, code: span{`\$\{`, `\}`}}},
		},
	}
}
