// The reply attributes of one user on its profile: those that it has, and the editor.

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { ReplyAttribute, UserReplyView } from "../../../api/groups/group_types.ts";
import { escapeParams, take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Button } from "../../components/button.tsx";
import { RepliesDialog } from "../../components/replies_dialog.tsx";
import { t } from "../../i18n/translate.ts";
import type { UserPart } from "./user_page_model.ts";

/** A change waits for a sign-in or a recent factor. */
function createReplyCalls({ api, session }: Models, name: string) {
  const { replies } = api.users[":id"];
  const param = escapeParams({ id: name });
  const ask = (call: () => Promise<UserReplyView>) =>
    session.whileSignedIn(call).then((found) => ({ ...found, name }));
  return {
    read: () => ask(() => take(replies.$get({ param }))),
    replies: ({ attributes, version }: { attributes: readonly ReplyAttribute[]; version: number }) => {
      const json = { attributes: attributes.map(({ name, value }) => ({ name, value })), version };
      return ask(() => take(replies.$put({ param, json })));
    },
  };
}

export function UserReplyAttributes({ models, user: { name } }: UserPart) {
  const calls = useMemo(() => createReplyCalls(models, name), [name]);
  const current = useSignal<UserReplyView & { readonly name: string } | null>(null);
  const editing = useSignal(false);
  useEffect(() => {
    // A failure leaves the panel out. The page shows that the server does not answer.
    calls.read().then((found) => current.value = found, () => current.value = null);
  }, [name]);
  const shown = current.value;
  if (shown === null) return null;
  const isFixed = shown.repliesFrom === "settings";
  const reason = permissionHint(models, "owner") ?? (isFixed ? t("users.replies_where") : undefined);
  return (
    <section class="panel people-panel" aria-label={t("common.reply_attributes")}>
      <h2>{t("common.reply_attributes")}</h2>
      {shown.replies.length === 0 ? <p class="quiet">{t("users.replies_none")}</p> : (
        <ul class="mono">
          {shown.replies.map((row, at) => (
            <li key={at}>
              {row.name} = <bdi>{row.value}</bdi>
            </li>
          ))}
        </ul>
      )}
      {isFixed && <p class="quiet small">{t("users.replies_where")}</p>}
      <div>
        <Button reason={reason} onClick={() => editing.value = true}>{t("common.replies_edit")}</Button>
      </div>
      {editing.value && (
        <RepliesDialog
          title={t("common.reply_attributes_of", { name })}
          hint={t("users.replies_hint")}
          edited={shown}
          calls={calls}
          onDone={(now) => {
            current.value = now;
            models.toasts.show(t("users.replies_saved", { name }), { tone: "ok" });
          }}
          onClose={() => editing.value = false}
        />
      )}
    </section>
  );
}
