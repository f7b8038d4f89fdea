// The filters of a request's query, read into values, with their types for the typed client.

import type { MiddlewareHandler } from "hono";
import * as v from "valibot";
import type { HttpEnv } from "./hono_env.ts";
import { Refusal } from "./errors.ts";

type QueryTypes<S extends v.GenericSchema> = {
  in: { query: v.InferInput<S> };
  out: { query: v.InferOutput<S> };
};

/** Reads the query by a schema over texts, or refuses. A name that is given twice counts once. */
export function queryValues<S extends v.GenericSchema, P extends string>(
  schema: S,
): MiddlewareHandler<HttpEnv, P, QueryTypes<S>> {
  return async (c, next) => {
    const parsed = v.safeParse(schema, c.req.query());
    if (!parsed.success) throw new Refusal("bad_query");
    c.req.addValidatedData("query", parsed.output as object);
    await next();
  };
}

/** A whole number between two bounds; absent gives `otherwise`. */
export function wholeNumber({ least, most, otherwise }: { least: number; most: number; otherwise: number }) {
  return v.optional(
    v.pipe(v.string(), v.regex(/^\d{1,9}$/), v.transform(Number), v.minValue(least), v.maxValue(most)),
    String(otherwise),
  );
}
