// The arguments of `deno task admin`: fields as options, with their names, values, refusals and help.

import { COMMAND } from "../platform/command_name.ts";
import en from "../console/web/i18n/en.json" with { type: "json" };
import {
  type AnyField,
  appliesTo,
  defaultsOf,
  type Fields,
  isWithinBounds,
  OBJECT_NAME,
  snakeName,
  type When,
} from "../platform/fields.ts";
import { AdminRefusal } from "./admin_connection.ts";
import { quoted, table } from "./format_result.ts";
import { parseCommandArgs, readSecretLine, writeNotice } from "./terminal.ts";

export interface ActionArguments {
  /** By default a name. */
  readonly takes?: "" | "name secret";
  readonly does: string;
  readonly fields?: Fields;
}

export interface ResourceArguments {
  readonly summary: string;
  /** "destination": one object, in messages. */
  readonly object: string;
  /** The arguments after `add`. */
  readonly example: string;
  /** The message of a field in the console, by its name such as `max_hours`. */
  readonly key: (name: string) => string;
  /** What options mean that are no fields of a form. */
  readonly texts?: Readonly<Record<string, string>>;
  readonly actions: Readonly<Record<string, ActionArguments>>;
}
type Resources = Readonly<Record<string, ResourceArguments>>;

export interface AdminPlan {
  readonly resource: string;
  readonly action: string;
  readonly name: string;
  readonly id: string;
  readonly given: OptionValues;
  readonly isJson: boolean;
}

/** Reads the arguments. A text is the problem with them. */
export function planArguments(
  resources: Resources,
  args: readonly string[],
): AdminPlan | { readonly help: string } | string {
  // The options depend on the resource and the action, so these come first.
  const [resource = "", action = "", ...others] = args;
  if (resource !== "" && !Object.hasOwn(resources, resource)) {
    return `there is no resource ${quoted(resource)}`;
  }
  if (action === "") return { help: adminHelp(resources, resource) };
  const { actions, object } = resources[resource] as ResourceArguments;
  if (!Object.hasOwn(actions, action)) return `there is no action ${quoted(action)}`;
  const { takes = "name", fields = {} } = actions[action] as ActionArguments;
  const options = optionsOf(fields);
  const parsed = parseCommandArgs(others, { json: { type: "boolean" }, ...options });
  if (!parsed.ok) {
    const { problem } = parsed;
    const file = Object.keys(options).find((one) =>
      problem === `unknown option '--${one.replace(/-file$/, "")}'`
    );
    return file === undefined ? problem : `${problem}; --${file} reads the value from a file`;
  }
  const { words: [name = "", id = "", more] } = parsed;
  const values: OptionValues = parsed.values;
  if (takes === "" && name !== "") return `${action} takes no name`;
  if (takes !== "" && name === "") return `the name of the ${object} is missing`;
  if (takes === "name secret" && id === "") return "the id of the secret is missing";
  if (more !== undefined || (id !== "" && takes === "name")) return "there is more than one name";
  if (action === "add" && !OBJECT_NAME.test(name)) return `${quoted(name)} cannot be a name. ${NAME_RULE}`;
  const twice = Object.keys(values).find((option) => `no-${option}` in values);
  if (twice !== undefined) return `--${twice} and --no-${twice} exclude each other`;
  const given = givenValues(fields, values);
  if (action === "change" && Object.keys(given).length === 0) return "change needs an option";
  // A change is checked again with the values of the object.
  const all = action === "change" ? null : { ...defaultsOf(fields), ...given };
  return optionProblem(fields, given, all) ?? (action === "add" ? missingOption(fields, given) : null) ??
    { resource, action, name, id, given, isJson: values["json"] === true };
}

const NAME_RULE = "A name begins with a letter, and has at most 40 letters a to z, digits and hyphens";

/** The values of options, by the names of their fields. */
export type OptionValues = Readonly<Record<string, unknown>>;

/** The value of an option that names a file. "-": standard input. "": it removes the value. */
interface FilePath {
  readonly path: string;
}
const isPath = (value: unknown): value is FilePath => value instanceof Object && "path" in value;

/** Whether the option names a file, so that no secret is in the arguments. */
const isFile = (field: AnyField | undefined): boolean =>
  field?.type === "secret" || (field?.type === "text" && field.lines !== undefined);

/** `--max-hours`. */
export function optionOf(name: string, field?: AnyField): string {
  return `--${snakeName(name).replaceAll("_", "-")}${isFile(field) ? "-file" : ""}`;
}

/** For the reader of the arguments. */
function optionsOf(fields: Fields) {
  const entries = Object.entries(fields).flatMap(([name, field]) => {
    const option = optionOf(name, field).slice(2);
    return field.type === "flag" ? [[option, "boolean"], [`no-${option}`, "boolean"]] : [[option, "string"]];
  });
  return Object.fromEntries(
    entries.map(([option, type]) => [option, { type: type as "string" | "boolean" }]),
  );
}

function givenValues(fields: Fields, options: OptionValues): OptionValues {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]) => {
      const option = optionOf(name, field).slice(2);
      if (options[`no-${option}`] === true) return [[name, false]];
      const value = options[option];
      return value === undefined ? [] : [[name, typeof value === "string" ? valueOf(field, value) : value]];
    }),
  );
}

function valueOf(field: AnyField, value: string): unknown {
  if (isFile(field)) return { path: value } satisfies FilePath;
  if (field.type === "number") return /^\d{1,9}$/.test(value) ? Number(value) : NaN;
  if (field.type === "list" || field.type === "choices") {
    return value.split(",").map((one) => one.trim()).filter((one) => one !== "");
  }
  // `syslog-tls` is `syslog_tls`.
  return field.type === "choice" ? value.replaceAll("-", "_") : value;
}

/**
 * The first option that cannot be used, as a sentence without its period.
 *
 * @param values all values of the object, for the conditions; `null`: they are not known yet.
 */
export function optionProblem(fields: Fields, given: OptionValues, values: object | null): string | null {
  for (const [name, field] of Object.entries(fields)) {
    const value = given[name];
    if (value === undefined) continue;
    const option = optionOf(name, field);
    const isChoice = field.type === "choice";
    const isUsable = isPath(value) ||
      isWithinBounds(isChoice ? { ...field, only: {} } : field, value);
    if (!isUsable) return `${option} must be ${allowedText(field)}`;
    const conditions = [[option, field.when], [
      `${option} ${value}`,
      isChoice ? field.only?.[String(value)] : {},
    ]] as const;
    const [what, when] = conditions.find(([, when]) => values !== null && !appliesTo(when, values)) ?? [];
    if (when !== undefined) return `${what} can only be used ${whenText(fields, when)}`;
  }
  return null;
}

/** A new object needs a value that has no usable default. */
const isRequired = (name: string, field: AnyField): boolean =>
  name === "kind" || ("isRequired" in field && field.isRequired === true) ||
  (field.type === "list" && (field.minItems ?? 0) > 0);

/** The first option that a new object lacks, as a sentence without its period. */
function missingOption(fields: Fields, given: OptionValues): string | null {
  const found = Object.entries(fields).find(([name, field]) =>
    !(name in given) && isRequired(name, field) && appliesTo(field.when, given)
  );
  return found === undefined ? null : `${optionOf(...found)} is required: ${allowedText(found[1])}`;
}

function allowedText(field: AnyField): string {
  switch (field.type) {
    case "number":
      return `a whole number from ${field.min} to ${field.max}`;
    case "choice":
      return `one of ${field.of.filter((one) => one !== "").join(", ")}`;
    case "choices":
      return `${field.min === undefined ? "any" : `at least ${field.min}`} of ${
        field.of.join(", ")
      }, separated by commas`;
    case "list":
      return `${field.minItems ?? 0} to ${field.maxItems} values, separated by commas`;
    case "flag":
      return "given without a value";
    default:
      return `a text of ${field.isRequired === true ? 1 : 0} to ${field.max} characters`;
  }
}

function whenText(fields: Fields, when: When): string {
  return Object.entries(when).map(([name, wanted]) => {
    const values = "not" in wanted ? wanted.not : wanted;
    return `${values === wanted ? "with" : "without"} ${optionOf(name, fields[name])} ${values.join(" or ")}`;
  }).join(" and ");
}

/** The values in which those of files are read. @throws AdminRefusal if a file cannot be used */
export async function withFileValues(fields: Fields, given: OptionValues): Promise<OptionValues> {
  const values: Record<string, unknown> = { ...given };
  for (const [name, value] of Object.entries(given)) {
    const field = fields[name];
    if (!isPath(value) || field === undefined) continue;
    const option = optionOf(name, field);
    values[name] = value.path === "" ? "" : await readValue(value.path, { field, option });
    if (value.path === "" || isWithinBounds(field, values[name])) continue;
    throw new AdminRefusal("bad_field", `${option} must contain ${allowedText(field)}.`);
  }
  return values;
}

async function readValue(
  path: string,
  { field, option }: { field: AnyField; option: string },
): Promise<string> {
  const isLine = !("lines" in field);
  try {
    const text = path !== "-"
      ? await Deno.readTextFile(path)
      : isLine
      ? await readSecretLine(Deno.stdin, writeNotice, { label: option }) ?? ""
      : await new Response(Deno.stdin.readable).text();
    if (text.trim() !== "") return isLine ? text.trim() : text;
  } catch (_fault) {
    throw new AdminRefusal("unreadable", `${option}: cannot read the file ${quoted(path)}.`);
  }
  throw new AdminRefusal("empty", `${option}: there is no value.`);
}

/** The value of a field in a table. */
export function fieldValueText(value: unknown): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.join(",");
  const [first = "", ...more] = String(value ?? "").trim().split("\n");
  return more.length === 0 ? first : `${first} (${more.length + 1} lines)`;
}

/** The help: all resources, or the actions and options of one. */
export function adminHelp(resources: Resources, name: string): string {
  if (!Object.hasOwn(resources, name)) {
    const rows = Object.entries(resources).map(([one, { summary }]) => [one, summary]);
    return `Manage what administrators set up.\n\nUsage:\n  ${COMMAND} admin <resource> <action> [<name>] [options]\n\n` +
      `Resources:\n${table(rows)}\n"${COMMAND} admin <resource> --help" lists the actions and options.\n`;
  }
  const resource = resources[name] as ResourceArguments;
  const actions = Object.entries(resource.actions);
  const rows = actions.map(([action, { takes = "name", does }]) => [
    `${COMMAND} admin ${name} ${action}${takes && ` <${takes.replace(" ", "> <")}>`}`,
    does,
  ]);
  const options = actions.map(([action, { fields }]) => {
    if (fields === undefined) return "";
    if (action !== "change") {
      return `\nOptions of ${action}:\n${optionsHelp(fields, { ...resource, action })}`;
    }
    const added = Object.entries(resource.actions["add"]?.fields ?? {});
    const not = added.filter(([field]) => !(field in fields)).map((one) => optionOf(...one));
    return `\nOptions of change: those of add, except ${not.join(", ")}.\n`;
  });
  return `Manage ${resource.summary}.\n\nUsage:\n${table(rows)}
Example:\n  ${COMMAND} admin ${name} add ${resource.example}\n${options.join("")}
--json prints the answer of the administration API.
${NAME_RULE}.
A <file> of "-" is standard input. An option with an empty path, such as --ca-file=, removes the stored value.
`;
}

function optionsHelp(
  fields: Fields,
  { key, texts = {}, action }: Pick<ResourceArguments, "key" | "texts"> & { readonly action: string },
): string {
  return Object.entries(fields).map(([name, field]) => {
    const option = optionOf(name, field);
    const kind = isFile(field) ? "file" : field.type === "number" ? "n" : "value";
    const isText = field.type === "text" || field.type === "secret" || field.type === "flag";
    const only = field.type === "choice" ? Object.entries(field.only ?? {}) : [];
    const parts = [
      texts[name] ?? messageOf(key(snakeName(name))),
      isText ? "" : allowedText(field),
      action === "add" && isRequired(name, field) ? "required" : defaultText(field),
      field.when === undefined ? "" : `only ${whenText(fields, field.when)}`,
      ...only.map(([one, when]) => `${one} only ${whenText(fields, when ?? {})}`),
    ];
    // The hint of a list says how to type it into the form.
    const hint = field.hasHint === true && field.type !== "list"
      ? messageOf(key(`${snakeName(name)}_hint`))
      : "";
    return `  ${field.type === "flag" ? `${option}, --no-${option.slice(2)}` : `${option} <${kind}>`}\n` +
      `      ${parts.filter((part) => part !== "").join("; ")}.${hint && `\n      ${hint}`}\n`;
  }).join("");
}

function messageOf(key: string): string {
  const message = (en as Readonly<Record<string, unknown>>)[key];
  return typeof message === "string" ? message : "";
}

function defaultText(field: AnyField): string {
  if (field.type === "secret") return "";
  const { by = "", of = {} } = field.type === "number" ? field.usual ?? {} : {};
  const usual = Object.entries(of).filter(([one]) => appliesTo(field.when, { [by]: one }));
  const text = usual.map(([one, value]) => `${value} (${one})`).join(", ") || fieldValueText(field.default);
  return text === "" || text === "no" ? "" : `default: ${text}`;
}
