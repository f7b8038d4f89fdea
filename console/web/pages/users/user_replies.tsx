// The reply attributes of one user on its profile: those that it has, and the editor.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { UserReplies } from "../../../api/groups/group_types.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Button } from "../../components/button.tsx";
import { RepliesDialog } from "../../components/replies_dialog.tsx";
import { t } from "../../i18n/translate.ts";
import type { UserPart } from "./user_page_model.ts";

export function UserReplyAttributes({ models, user: { name }, calls }: UserPart) {
  const current = useSignal<UserReplies | null>(null);
  const editing = useSignal(false);
  const named = (replies: UserReplies) => ({ ...replies, name });
  useEffect(() => {
    // A failure leaves the panel out. The page shows that the server does not answer.
    calls.readReplies().then((found) => current.value = found, () => current.value = null);
  }, [name]);
  const shown = current.value;
  if (shown === null) return null;
  const isFixed = shown.repliesFrom === "settings";
  const reason = permissionHint(models, "owner") ?? (isFixed ? t("users.replies_where") : undefined);
  return (
    <section class="panel people-panel" aria-label={t("users.replies")}>
      <h2>{t("users.replies")}</h2>
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
        <Button reason={reason} onClick={() => editing.value = true}>{t("users.replies_edit")}</Button>
      </div>
      {editing.value && (
        <RepliesDialog
          title={t("users.replies_title", { name })}
          hint={t("users.replies_hint")}
          edited={named(shown)}
          calls={{
            read: async () => named(await calls.readReplies()),
            replies: async ({ attributes, version }) => named(await calls.replies({ attributes, version })),
          }}
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
