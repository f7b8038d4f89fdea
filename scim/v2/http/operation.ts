// One operation of the full SCIM 2.0 interface, from an HTTP request or from a bulk request, and its result.

import type { Actor, Target } from "../../ports.ts";
import { ScimRefusal, valueRefusal } from "../../http/refusals.ts";
import type { Precondition } from "../../http/handlers.ts";
import type { JsonObject, ResourceKind, Stored } from "../../schema/resource.ts";
import type { ResourceTypeDefinition } from "../../schema/attribute_definition.ts";
import { type Projection, type ProjectionParameters, readProjection } from "../schema/projection.ts";
import type { QueryCursorDeps } from "../query/query_cursor.ts";
import type { TargetSchemas } from "../schema/target_schemas.ts";
import type { AuthenticatedConnection } from "../connections/authentication.ts";
import type { Connections } from "../connections/connections.ts";

/** The facts of a request that the request log shows. The handlers add to it. */
export interface RequestTrace {
  /** `id: null`: a dry run would create it. */
  resource: { kind: ResourceKind; id: string | null; name: string } | null;
  /** Names of attributes that the request sets. */
  attributes: readonly string[];
  /** What a dry run would do. */
  planned: string | null;
}

/** What the application needs of the connections of identity providers. */
export type ConnectionAccess = Pick<
  Connections,
  | "authenticate"
  | "admit"
  | "admitOperations"
  | "readmit"
  | "countDeletion"
  | "record"
  | "proposeAdoption"
  | "isAdopted"
>;

/** The groups that policies and reply attributes name: they decide how their members sign in. */
export interface NamedGroups {
  /** Whether they name any group of a target. */
  namesGroups(target: string): boolean;
  /** @param group canonical */
  isGroupNamed(group: string): boolean;
}

/** Who asks, where, and with which rules. */
export interface OperationContext {
  readonly target: Target;
  readonly schemas: TargetSchemas;
  readonly connection: AuthenticatedConnection;
  readonly access: ConnectionAccess;
  readonly actor: Actor;
  readonly namedAccess: NamedGroups;
  /** The absolute URL of the target, without a slash at the end. */
  readonly baseUrl: string;
  readonly trace: RequestTrace;
  /** For cursors. */
  readonly cursors: QueryCursorDeps;
  /** A new UUID. */
  readonly newId: () => string;
}

export interface Operation {
  readonly context: OperationContext;
  readonly kind: ResourceKind;
  /** `null`: the operation creates a resource. */
  readonly id: string | null;
  /** The body. @throws ScimRefusal `invalid_syntax` */
  readonly json: () => Promise<JsonObject>;
  readonly ifMatch: Precondition | null;
  readonly ifNoneMatch: Precondition | null;
  readonly projection: ProjectionParameters;
}

export interface OperationResult {
  readonly status: 200 | 201 | 204 | 304;
  /** JSON text. `null`: no body. */
  readonly text: string | null;
  readonly etag?: string;
  readonly location?: string;
  readonly id?: string;
}

/** The resource type of an operation. */
export function resourceTypeOf(
  { context: { schemas }, kind }: Pick<Operation, "context" | "kind">,
): ResourceTypeDefinition {
  return schemas.types[kind];
}

/** @throws ScimRefusal `invalid_value` */
export function projectionOf(operation: Pick<Operation, "context" | "kind" | "projection">): Projection {
  const read = readProjection(operation.projection, resourceTypeOf(operation));
  if (!read.ok) throw valueRefusal(read.detail);
  return read.projection;
}

/** Notes the resource for the request log. */
export function traceResource({ trace }: OperationContext, { id, content: { kind, name } }: Stored): void {
  trace.resource = { kind, id, name };
}

/** A write that another writer overtook is repeated this often. */
const MAX_ATTEMPTS = 20;

/** Runs a write until no other writer overtakes it. If the client requires a version, the first lost race is its error. */
export async function repeatLostRaces<T>(operation: Operation, once: () => Promise<T>): Promise<T> {
  for (let attempt = 1;; attempt++) {
    try {
      return await once();
    } catch (fault) {
      if (!isLostRace(fault)) throw fault;
      if (isConditional(operation)) throw new ScimRefusal("precondition", { cause: fault });
      if (attempt >= MAX_ATTEMPTS) throw fault;
    }
  }
}

/** Another writer changed the resource after it was read. */
function isLostRace(fault: unknown): boolean {
  return fault instanceof ScimRefusal && (fault.code === "changed" || fault.code === "precondition");
}

/** Whether a client requires a version, so that a lost race is its error and not ours to repeat. */
export function isConditional({ ifMatch, ifNoneMatch }: Operation): boolean {
  return (ifMatch !== null && ifMatch !== "any") || ifNoneMatch !== null;
}
