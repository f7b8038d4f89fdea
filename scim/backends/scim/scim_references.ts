// References in the body for another SCIM server: ids of this directory become ids of the server. Pure.

import type { Reference } from "../../backend_port.ts";
import { ENTERPRISE_SCHEMA } from "../../schema/attribute_table.ts";
import { isJsonArray, isJsonObject } from "../../schema/json_limits.ts";
import type { JsonObject, JsonValue } from "../../schema/resource.ts";
import { isUuid } from "../../schema/value_rules.ts";
import { collectionPath } from "./scim_resources.ts";

/** A reference at the server. `id: null`: the server does not have the resource. */
export interface ServerReference extends Reference {
  readonly id: string | null;
}

interface Translation {
  /** By the value in the content. */
  readonly references: ReadonlyMap<string, ServerReference>;
  /** The base URL of the server. */
  readonly url: string;
}

/** The body with the references of the server. A reference to a resource that the server lacks is left out, and an unknown manager, too. */
export function translateReferences(body: JsonObject, translation: Translation): JsonObject {
  const translated = Object.entries(body).flatMap(([name, value]): [string, JsonValue][] => {
    const isExtension = name.startsWith("urn:") && isJsonObject(value);
    const after = name === "manager"
      ? translateManager(value, translation)
      : isExtension
      ? translateExtension(name, value, translation)
      : value;
    return after === undefined ? [] : [[name, after]];
  });
  return Object.fromEntries(translated);
}

function translateExtension(
  urn: string,
  extension: JsonObject,
  translation: Translation,
): JsonObject | undefined {
  const isEnterprise = urn.toLowerCase() === ENTERPRISE_SCHEMA.toLowerCase();
  const translated = Object.entries(extension).flatMap(([name, value]): [string, JsonValue][] => {
    const after = isEnterprise && name === "manager"
      ? translateManager(value, translation)
      : translateValue(value, translation);
    return after === undefined ? [] : [[name, after]];
  });
  return translated.length === 0 ? undefined : Object.fromEntries(translated);
}

function translateManager(manager: JsonValue, { references, url }: Translation): JsonValue | undefined {
  if (typeof manager === "string") return references.get(manager)?.id ?? undefined;
  if (!isJsonObject(manager)) return undefined;
  const { value, $ref, ...rest }: JsonObject = manager;
  const keys = [value, typeof $ref === "string" ? $ref.slice($ref.lastIndexOf("/") + 1) : undefined];
  const found = keys.flatMap((key) => typeof key === "string" ? references.get(key) ?? [] : [])[0];
  if (found === undefined || found.id === null) return undefined;
  return { ...rest, value: found.id, ...$ref === undefined ? {} : { $ref: addressOf(found, found.id, url) } };
}

/** `undefined`: the reference is left out, with the value that it belongs to. */
function translateValue(value: JsonValue, translation: Translation): JsonValue | undefined {
  if (typeof value === "string") return translateText(value, translation);
  if (isJsonArray(value)) return value.flatMap((one) => translateValue(one, translation) ?? []);
  if (!isJsonObject(value)) return value;
  const translated = Object.entries(value).map(([name, one]) =>
    [name, translateValue(one, translation)] as const
  );
  const isLost = translated.some(([name, one]) => one === undefined && (name === "value" || name === "$ref"));
  if (isLost) return undefined;
  return Object.fromEntries(translated.flatMap(([name, one]) => one === undefined ? [] : [[name, one]]));
}

/** Only ids are translated here: any text may be equal to a name. */
function translateText(text: string, { references, url }: Translation): string | undefined {
  const last = text.slice(text.lastIndexOf("/") + 1);
  const found = isUuid(last) ? references.get(last) : undefined;
  if (found === undefined) return text;
  if (found.id === null) return undefined;
  return last === text ? found.id : addressOf(found, found.id, url);
}

function addressOf({ kind }: Reference, id: string, url: string): string {
  return `${url}${collectionPath(kind)}/${encodeURIComponent(id)}`;
}
