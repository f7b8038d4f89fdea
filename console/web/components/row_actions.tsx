// The actions on the rows of a list: each runs, reports, and loads the list again. Some ask first, and some show a secret once.

import { useSignal } from "@preact/signals";
import type { Role } from "../../api/auth/admin_records.ts";
import type { Question } from "../app/action.ts";
import { failureText } from "../app/api_client.ts";
import type { Models } from "../app/app_context.ts";
import type { Resource } from "../app/resource.ts";
import { permissionHint } from "../app/session_model.ts";
import { t } from "../i18n/translate.ts";
import { type CreatedSecret, SecretDialog } from "./form_dialog.tsx";
import type { MenuItem } from "./menu.tsx";
import { auditHref } from "./page_layout.tsx";

interface RowAction extends Pick<MenuItem, "label" | "icon" | "isBad"> {
  /** The role that may do it. Without it, every role that sees the list. */
  readonly needs?: Role;
  /** Why the action is disabled, besides the role. */
  readonly reason?: string | undefined;
  /** The question before the action. The default of its button is the label. An error is shown in it. */
  readonly ask?: Pick<Question, "title" | "text" | "isBad"> & { readonly submitLabel?: string };
  /** Resolves to the message of its success, to why it did not succeed, or to a secret that is shown once. */
  readonly run: () => Promise<string | { readonly failure: string } | CreatedSecret | void>;
}

/**
 * @param list is loaded again after each action
 * @example actionsOf={(row) => [rows.audit(`credential:${row.name}`), rows.action({ label: t("common.revoke"), … })]}
 */
export function useRows(models: Models, list: Pick<Resource<unknown>, "reload">) {
  const secret = useSignal<CreatedSecret | null>(null);
  const perform = async (run: RowAction["run"]) => {
    const done = await run();
    if (typeof done === "string") models.toasts.show(done, { tone: "ok" });
    else if (done !== undefined && "failure" in done) models.toasts.show(done.failure, { tone: "bad" });
    else if (done !== undefined) secret.value = done;
  };
  const runNow = async (run: RowAction["run"]) => {
    try {
      await perform(run);
    } catch (fault) {
      models.toasts.show(failureText(fault), { tone: "bad" });
    }
    await list.reload();
  };
  const runAfterQuestion = async (run: RowAction["run"]) => {
    await perform(run);
    void list.reload();
  };
  return {
    /** An action as an item of the menu of its row. */
    action({ needs, reason, ask, run, ...item }: RowAction): MenuItem {
      const { label, isBad = false } = item;
      const hint = needs === undefined ? undefined : permissionHint(models, needs);
      return {
        ...item,
        reason: hint ?? reason,
        run: ask === undefined ? () => runNow(run) : () => {
          models.question.value = { submitLabel: label, isBad, ...ask, run: () => runAfterQuestion(run) };
        },
      };
    },
    /** An item that opens a dialog. */
    dialog: (
      { needs, open, ...item }: Pick<RowAction, "label" | "icon" | "needs"> & { open: () => void },
    ) => ({
      ...item,
      reason: needs === undefined ? undefined : permissionHint(models, needs),
      run: open,
    } satisfies MenuItem),
    /** The link to the audit records of an object: `credential:hr`. */
    audit: (object: string): MenuItem => ({
      label: t("shell.audit"),
      icon: "scroll-text",
      href: auditHref(object),
    }),
    /** The created secret; belongs below the list. */
    dialogs: secret.value !== null && <SecretDialog {...secret.value} onClose={() => secret.value = null} />,
  };
}

/** The actions of the rows of one list. */
export type RowActions = ReturnType<typeof useRows>;
