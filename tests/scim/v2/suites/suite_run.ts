// Runs the rows of the conformance suites against a SCIM 2.0 server, with the checks that every answer must pass.

import {
  fillAll,
  isEqual,
  Matcher,
  type Step,
  type SuiteAnswer,
  type SuiteRow,
  valueAt,
} from "./suite_row.ts";
import { answerProblems } from "./answer_rules.ts";

/** The server under test. */
export interface SuiteServer {
  /** Without a slash at the end. */
  readonly baseUrl: string;
  /** The value of the Authorization header. */
  readonly authorization: string;
}

const PATIENCE_MS = 30_000;
/** Unique for a run, because a server can have resources of earlier runs. */
const RUN = crypto.randomUUID().slice(0, 6);
let rowCount = 0;

/** Runs the steps of a row; the first step that fails ends it. @returns what is wrong, one sentence each. */
export async function runRow(server: SuiteServer, row: SuiteRow): Promise<string[]> {
  rowCount += 1;
  const variables = new Map([["row", `r${RUN}x${rowCount}`], ["base", server.baseUrl], [
    "guid",
    crypto.randomUUID(),
  ]]);
  for (const [index, step] of row.steps.entries()) {
    const answer = await sendStep(server, step, variables).catch((fault: unknown) => String(fault));
    if (typeof answer === "string") return [`step ${index + 1}, ${step.send}: ${answer}`];
    const problems = [
      ...stepProblems(step, answer, (text) => fillText(text, variables)),
      ...answerProblems(answer),
    ];
    if (problems.length > 0) {
      const at = `step ${index + 1}, ${answer.method} ${answer.path}`;
      return [...problems.map((problem) => `${at}: ${problem}`), `  answer: ${answer.text.slice(0, 600)}`];
    }
    for (const [name, from] of Object.entries(step.save ?? {})) {
      const value = from.startsWith("header:")
        ? answer.headers.get(from.slice("header:".length))
        : valueAt(answer.json, from);
      if (typeof value !== "string" && typeof value !== "number") {
        return [`step ${index + 1}: the answer has no ${from}`];
      }
      variables.set(name, String(value));
    }
  }
  return [];
}

async function sendStep(
  server: SuiteServer,
  step: Step,
  variables: ReadonlyMap<string, string>,
): Promise<SuiteAnswer> {
  const fill = (text: string) => fillText(text, variables);
  const [method = "", target = ""] = fill(step.send).split(" ");
  const query = new URLSearchParams(fillAll(step.query ?? {}, fill) as Record<string, string>).toString();
  const path = query === "" ? target : `${target}?${query}`;
  const authorization = step.authorization === undefined ? server.authorization : step.authorization;
  const { body } = step;
  const startedMs = performance.now();
  const response = await fetch(server.baseUrl + path, {
    method,
    redirect: "manual",
    headers: {
      accept: "application/scim+json",
      ...(authorization === null ? {} : { authorization }),
      ...(body === undefined ? {} : { "content-type": "application/scim+json" }),
      ...fillAll(step.headers ?? {}, fill) as Record<string, string>,
    },
    ...(body === undefined
      ? {}
      : { body: typeof body === "string" ? fill(body) : JSON.stringify(fillAll(body, fill)) }),
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  const text = await response.text();
  return {
    method,
    path,
    status: response.status,
    headers: response.headers,
    text,
    elapsedMs: performance.now() - startedMs,
    json: parseJson(text),
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (_notJson) {
    return undefined;
  }
}

/** A word in braces that is no variable stays: JSON and regular expressions have braces too. */
function fillText(text: string, variables: ReadonlyMap<string, string>): string {
  return text.replaceAll(/\{(\w+)(:upper)?\}/g, (whole, name: string, upper?: string) => {
    const value = variables.get(name);
    if (value === undefined) return whole;
    return upper === undefined ? value : value.toUpperCase();
  });
}

function* stepProblems(
  step: Step,
  answer: SuiteAnswer,
  fill: (text: string) => string,
): Generator<string> {
  const statuses = typeof step.status === "number" ? [step.status] : step.status;
  if (!statuses.includes(answer.status)) {
    yield `status ${answer.status} instead of ${statuses.join(" or ")}`;
    return;
  }
  if (step.scimType !== undefined && valueAt(answer.json, "scimType") !== step.scimType) {
    yield `scimType ${JSON.stringify(valueAt(answer.json, "scimType"))} instead of "${step.scimType}"`;
  }
  if (step.maxMs !== undefined && answer.elapsedMs > step.maxMs) {
    yield `${Math.round(answer.elapsedMs)} ms instead of at most ${step.maxMs} ms`;
  }
  // An answer without a body has nothing to compare.
  if (answer.status !== 204) {
    for (const [path, wanted] of Object.entries(step.json ?? {})) {
      const value = valueAt(answer.json, path);
      if (!isMet(value, wanted, fill)) {
        yield `${path} is ${shorten(value)} instead of ${nameOf(wanted, fill)}`;
      }
    }
  }
  for (const [name, wanted] of Object.entries(step.header ?? {})) {
    const value = answer.headers.get(name) ?? undefined;
    if (!isMet(value, wanted, fill)) {
      yield `header ${name} is ${shorten(value)} instead of ${nameOf(wanted, fill)}`;
    }
  }
}

function isMet(value: unknown, wanted: unknown, fill: (text: string) => string): boolean {
  return wanted instanceof Matcher ? wanted.isMet(value, fill) : isEqual(value, fillAll(wanted, fill));
}

function nameOf(wanted: unknown, fill: (text: string) => string): string {
  return wanted instanceof Matcher ? fill(wanted.text) : JSON.stringify(fillAll(wanted, fill));
}

function shorten(value: unknown): string {
  return (JSON.stringify(value) ?? "absent").slice(0, 200);
}
