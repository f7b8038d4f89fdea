// The name of a policy as a link to its row in the list of policies.

import type { Models } from "../app/app_context.ts";

/** Only a link for those who may read the policies. */
export function PolicyLink({ models, name }: { models: Models; name: string }) {
  if (!models.session.hasRole("user_manager")) return <bdi>{name}</bdi>;
  return (
    <a href={`/policies?${new URLSearchParams({ name })}`}>
      <bdi>{name}</bdi>
    </a>
  );
}
