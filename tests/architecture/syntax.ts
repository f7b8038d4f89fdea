// The syntax of one TypeScript module: its functions, exports, imports and prose.

import { parse } from "../packages/babel_parser.ts";
import { isModule, type SourceFile } from "./sources.ts";

/** From the first to the last line. A nested function counts by itself and as part of its parent. */
export interface FunctionSpan {
  readonly name: string;
  readonly line: number;
  readonly lines: number;
}

/** `types`: the import is erased at run time. */
export interface ImportSite {
  readonly specifier: string;
  readonly types: boolean;
  /** `import()`: the module is loaded on demand. */
  readonly isDynamic: boolean;
  /** The names that are imported. `null`: the whole module. */
  readonly names: readonly string[] | null;
}

/** One comment, string or identifier, or a text that JSX draws or names an element with. */
export interface TextSpan {
  readonly kind: "comment" | "string" | "identifier" | "drawn";
  readonly text: string;
  readonly line: number;
}

export interface ModuleSyntax {
  readonly functions: readonly FunctionSpan[];
  /** Names that the module declares and exports. A name that it passes on from another module is not one of them. */
  readonly exports: readonly string[];
  readonly imports: readonly ImportSite[];
  readonly texts: readonly TextSpan[];
}

/** The part of a Babel node that this file reads. */
interface SyntaxNode {
  readonly type: string;
  readonly loc: { readonly start: { readonly line: number }; readonly end: { readonly line: number } };
  readonly [key: string]: unknown;
}

const FUNCTIONS = new Set([
  "FunctionDeclaration",
  "FunctionExpression",
  "ArrowFunctionExpression",
  "ClassMethod",
  "ClassPrivateMethod",
  "ObjectMethod",
]);
const DRAWN_ATTRIBUTES = new Set(["alt", "aria-label", "placeholder"]);
const NO_CHILDREN = new Set(["loc", "extra", "errors", "comments", "tokens"]);

/** Parses a module. Throws a SyntaxError that names the file. */
export function parseModule(file: SourceFile): ModuleSyntax {
  const reader = new SyntaxReader();
  reader.read(parseTree(file));
  return {
    functions: reader.functions,
    exports: [...reader.exports].filter((name) => !reader.imported.has(name)),
    imports: reader.imports,
    texts: reader.texts,
  };
}

/** Parses every module among the files, by path. */
export function parseModules(files: readonly SourceFile[]): Map<string, ModuleSyntax> {
  return new Map(files.filter(({ path }) => isModule(path)).map((file) => [file.path, parseModule(file)]));
}

function parseTree({ path, text }: SourceFile): SyntaxNode {
  try {
    const tree: unknown = parse(text, {
      sourceType: "module",
      plugins: path.endsWith(".tsx") ? ["typescript", "jsx"] : ["typescript"],
      attachComment: false,
    });
    return tree as SyntaxNode;
  } catch (fault) {
    throw new SyntaxError(`Cannot parse ${path}: ${fault instanceof Error ? fault.message : fault}`, {
      cause: fault,
    });
  }
}

class SyntaxReader {
  readonly functions: FunctionSpan[] = [];
  readonly exports = new Set<string>();
  readonly imported = new Set<string>();
  readonly imports: ImportSite[] = [];
  readonly texts: TextSpan[] = [];

  read(file: SyntaxNode): void {
    for (const comment of file.comments as { value: string; loc: SyntaxNode["loc"] }[]) {
      this.texts.push({ kind: "comment", text: comment.value, line: comment.loc.start.line });
    }
    this.#visit(file.program as SyntaxNode, { name: "", owner: "" });
  }

  /** `name`: what the parent calls this node. `owner`: the function around it. */
  #visit(node: SyntaxNode, scope: { name: string; owner: string }): void {
    this.#readImport(node);
    this.#readExport(node);
    this.#readText(node);
    let { owner } = scope;
    if (FUNCTIONS.has(node.type)) owner = this.#addFunction(node, scope);
    const name = nameGiven(node, scope.name);
    for (const key in node) {
      if (NO_CHILDREN.has(key)) continue;
      const value = node[key];
      if (Array.isArray(value)) {
        for (const item of value) if (isNode(item)) this.#visit(item, { name, owner });
      } else if (isNode(value)) this.#visit(value, { name, owner });
    }
  }

  #addFunction(node: SyntaxNode, { name, owner }: { name: string; owner: string }): string {
    const { start, end } = node.loc;
    const own = nameOf(node.id) ?? nameOf(node.key) ?? name;
    const full = [owner, own === "" ? "function" : own].filter((part) => part !== "").join(" > ");
    this.functions.push({ name: full, line: start.line, lines: end.line - start.line + 1 });
    return full;
  }

  #readImport(node: SyntaxNode): void {
    const specifier = isNode(node.source) ? node.source.value : undefined;
    if (typeof specifier !== "string") return;
    const types = node.type === "TSImportType" || node.importKind === "type" || node.exportKind === "type";
    this.imports.push({
      specifier,
      types,
      isDynamic: node.type === "ImportExpression",
      names: importedNames(node),
    });
    if (node.type !== "ImportDeclaration") return;
    for (const { local } of node.specifiers as { local: unknown }[]) this.imported.add(nameOf(local) ?? "");
  }

  #readExport(node: SyntaxNode): void {
    if (node.type !== "ExportNamedDeclaration" || isNode(node.source)) return;
    if (isNode(node.declaration)) {
      for (const name of declaredNames(node.declaration)) {
        this.exports.add(name);
      }
    }
    for (const { exported } of node.specifiers as { exported: unknown }[]) {
      this.exports.add(nameOf(exported) ?? "");
    }
  }

  #readText(node: SyntaxNode): void {
    const { line } = node.loc.start;
    if (node.type === "Identifier" || node.type === "JSXIdentifier") {
      this.texts.push({ kind: "identifier", text: String(node.name), line });
    } else if (node.type === "JSXText") {
      this.texts.push({ kind: "drawn", text: String(node.value), line });
    } else if (node.type === "JSXAttribute" && DRAWN_ATTRIBUTES.has(nameOf(node.name) ?? "")) {
      if (isNode(node.value)) this.texts.push({ kind: "drawn", text: String(node.value.value ?? ""), line });
    } else if (node.type === "StringLiteral") {
      this.texts.push({ kind: "string", text: String(node.value), line });
    } else if (node.type === "TemplateElement") {
      this.texts.push({ kind: "string", text: (node.value as { raw: string }).raw, line });
    }
  }
}

/** The names that an import takes from a module, or that an export passes on. `null`: the whole module. */
function importedNames({ specifiers }: SyntaxNode): string[] | null {
  if (!Array.isArray(specifiers)) return null;
  const names = (specifiers as SyntaxNode[]).map((one) =>
    one.type === "ImportDefaultSpecifier" ? "default" : nameOf(one.imported ?? one.local)
  );
  const isWhole = (specifiers as SyntaxNode[]).some(({ type }) => type.endsWith("NamespaceSpecifier"));
  return isWhole ? null : names.filter((name) => name !== undefined);
}

/** What a node calls the function that it contains: the variable, property or called function. */
function nameGiven(node: SyntaxNode, inherited: string): string {
  if (node.type === "CallExpression") {
    const title = (node.arguments as SyntaxNode[])[0];
    const callee = calleeName(node.callee as SyntaxNode);
    return title?.type === "StringLiteral" ? `${callee}("${title.value}")` : `${callee}()`;
  }
  if (node.type === "VariableDeclarator") return nameOf(node.id) ?? "";
  if (node.type === "ObjectProperty" || node.type === "ClassProperty") return nameOf(node.key) ?? "";
  if (node.type === "JSXAttribute") return nameOf(node.name) ?? "";
  return FUNCTIONS.has(node.type) ? "" : inherited;
}

function calleeName(callee: SyntaxNode): string {
  const name = nameOf(callee) ?? "";
  if (callee.type !== "MemberExpression") return name;
  return [calleeName(callee.object as SyntaxNode), nameOf(callee.property) ?? ""].filter((part) =>
    part !== ""
  )
    .join(".");
}

function nameOf(node: unknown): string | undefined {
  if (!isNode(node)) return undefined;
  if (typeof node.name === "string") return node.name;
  if (node.type === "PrivateName") return `#${nameOf(node.id)}`;
  return node.type === "StringLiteral" ? String(node.value) : undefined;
}

/** The names that an exported declaration introduces; a pattern introduces several. */
function declaredNames(node: SyntaxNode): string[] {
  const name = nameOf(node.id) ?? nameOf(node);
  if (name !== undefined) return [name];
  const parts = [
    node.declarations,
    node.id,
    node.properties,
    node.elements,
    node.value,
    node.argument,
    node.left,
  ];
  return parts.flat().filter(isNode).flatMap(declaredNames);
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && "type" in value && "loc" in value;
}
