// Exports as files: CSV whose cells no spreadsheet calculates (RFC 4180), or JSON, streamed as fast as the client reads.

import type { MiddlewareHandler } from "hono";
import { FORMULA_START } from "../../platform/csv_reader.ts";
import { Refusal } from "./errors.ts";
import type { HttpEnv } from "./hono_env.ts";

const FORMULA_CELL = new RegExp(`(^|[;\\t\\r\\n])(?=${FORMULA_START})`, "gv");
const LINES_PER_CHUNK = 200;
const PAGE_SIZE = 500;
/** Downloads in progress of one administrator, with all sessions and tokens. */
const MAX_DOWNLOADS = 4;

/** The beginning, lines and end of a file; `at` counts lines from 0. */
interface FileEncoding<T> {
  readonly type: string;
  readonly head: string;
  readonly line: (item: T, at: number) => string;
  readonly tail: (count: number) => string;
}

/** The encodings of an export. `emptyTail` ends a JSON file without items. */
export function exportFormats<T>(
  columns: readonly string[],
  { cellsOf, emptyTail = "]\n" }: { cellsOf: (item: T) => string[]; emptyTail?: string },
): Readonly<Record<"csv" | "json", FileEncoding<T>>> {
  return {
    csv: {
      type: "text/csv; charset=utf-8",
      head: `${columns.join(",")}\r\n`,
      line: (item) => `${cellsOf(item).map(csvCell).join(",")}\r\n`,
      tail: () => "",
    },
    json: {
      type: "application/json",
      head: "[",
      line: (item, at) => `${at === 0 ? "" : ","}\n${JSON.stringify(item)}`,
      tail: (count) => count === 0 ? emptyTail : "\n]\n",
    },
  };
}

/**
 * RFC 4180 §2, with a quote before a cell that a spreadsheet would calculate. Where the decimal separator is a comma, spreadsheets also end a cell
 * at a semicolon, and some at a tab: the same holds for what follows it.
 */
export function csvCell(value: string): string {
  const safe = value.replaceAll(FORMULA_CELL, "$1'");
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** The lines of at most `max` items, of which a bounded number is in memory. */
export async function* exportLines<T>(
  readPage: (
    options: { before: string | null; limit: number },
  ) => Promise<{ items: readonly T[]; next: string | null }>,
  { encoding: { head, line, tail }, max }: { encoding: FileEncoding<T>; max: number },
): AsyncGenerator<string> {
  let count = 0;
  let before: string | null = null;
  yield head;
  do {
    const page = await readPage({ before, limit: PAGE_SIZE });
    for (const item of page.items.slice(0, max - count)) yield line(item, count++);
    before = page.next;
  } while (before !== null && count < max);
  yield tail(count);
}

/** The headers of a downloaded file. */
export function fileHeaders(type: string, name: string): Record<string, string> {
  return {
    "content-type": type,
    "content-disposition": `attachment; filename="${name}"`,
    "cache-control": "no-store",
  };
}

/** The lines as a response body. A client that stops reading also stops the source of the lines. */
export function streamLines(lines: AsyncGenerator<string>): ReadableStream<Uint8Array<ArrayBuffer>> {
  const utf8 = new TextEncoder();
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const chunk: string[] = [];
      let isDone = false;
      while (!isDone && chunk.length < LINES_PER_CHUNK) {
        const { done, value } = await lines.next();
        isDone = done === true;
        if (value !== undefined) chunk.push(value);
      }
      controller.enqueue(utf8.encode(chunk.join("")));
      if (isDone) controller.close();
    },
    async cancel() {
      await lines.return(undefined);
    },
  });
}

/** Limits the downloads of each administrator: a slow reader holds the source of its file open. */
export function createDownloadLimit(): MiddlewareHandler<HttpEnv> {
  const open = new Map<string, number>();
  return async (c, next) => {
    await next();
    const { body, headers } = c.res;
    if (body === null || !headers.has("content-disposition")) return;
    const { personId } = c.var.session;
    const count = open.get(personId) ?? 0;
    if (count >= MAX_DOWNLOADS) {
      await body.cancel();
      throw new Refusal("too_many_streams", { "retry-after": "10" });
    }
    open.set(personId, count + 1);
    const release = () => {
      const left = (open.get(personId) ?? 1) - 1;
      if (left > 0) open.set(personId, left);
      else open.delete(personId);
    };
    c.res = new Response(whileRead(body, release), c.res);
  };
}

/** The same body. Calls `release` once, when it was read to its end, failed, or its reader left. */
function whileRead(body: ReadableStream<Uint8Array<ArrayBuffer>>, release: () => void) {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        release();
        controller.close();
      } catch (fault) {
        release();
        controller.error(fault);
      }
    },
    async cancel(reason) {
      release();
      await reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
}
