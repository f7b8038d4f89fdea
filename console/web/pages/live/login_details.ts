// The details of one login: fetched again when the stream changes it.

import { useEffect } from "preact/hooks";
import type { ConversationView } from "../../../../radius/ports.ts";
import type { LoginDetails } from "../../../api/conversations/live_routes.ts";
import { escapeParams, take } from "../../app/api_client.ts";
import type { LiveModels as Models } from "./live_context.tsx";
import { readyValue, type Resource, useResource } from "../../app/resource.ts";

export interface LoginSource {
  readonly models: Models;
  readonly id: string;
  /** The login from the stream, newer than the fetched one; `null` if it is not among the newest. */
  readonly view: ConversationView | null;
  /** Called with the name of the user when it is known. */
  readonly onUser?: (name: string) => void;
}

export interface ShownLogin {
  readonly resource: Resource<LoginDetails>;
  /** `null` until it is fetched. */
  readonly details: LoginDetails | null;
  /** `null` until it is known. */
  readonly view: ConversationView | null;
}

export function useLoginDetails({ models, id, view, onUser }: LoginSource): ShownLogin {
  const resource = useResource<LoginDetails>(models, {
    fetch: () => take(models.api.live.logins[":id"].$get({ param: escapeParams({ id }) })),
    inputs: [id, view?.moments.length, view?.outcome],
  });
  const details = readyValue(resource.state.value);
  const shown = view ?? details?.view ?? null;
  useEffect(() => {
    if (shown !== null) onUser?.(shown.user);
  }, [shown?.user]);
  return { resource, details, view: shown };
}
