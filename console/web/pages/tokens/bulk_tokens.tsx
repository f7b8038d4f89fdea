// The bar below the list of hardware tokens with selected rows, and the dialog that unassigns, disables, enables or removes them.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { HardwareTokenView, TokenBulkAction, TokenBulkResult } from "../../../api/tokens/token_types.ts";
import { take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import type { Selection } from "../../app/selection.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert } from "../../components/alert.tsx";
import { ConfirmDialog } from "../../components/form_dialog.tsx";
import { NameList } from "../../components/name_list.tsx";
import { SelectionBar } from "../../components/selection_bar.tsx";
import { t } from "../../i18n/translate.ts";

/** The server accepts as many in one request. */
const MAX_CHANGED = 100;
const ACTIONS = ["unassign", "disable", "enable", "remove"] as const satisfies readonly TokenBulkAction[];

interface BulkTokensProps {
  readonly models: Models;
  readonly selection: Selection;
  /** The rows of the shown page. */
  readonly rows: readonly HardwareTokenView[];
  readonly onChanged: () => void;
}

interface Asked {
  readonly does: TokenBulkAction;
  readonly tokens: readonly HardwareTokenView[];
}

export function BulkTokens({ models, selection, rows, onChanged }: BulkTokensProps) {
  const asked = useSignal<Asked | null>(null);
  const failures = useSignal<readonly string[]>([]);
  // Rows of other pages stay selected, and the dialog names them, too.
  const seen = useRef(new Map<string, HardwareTokenView>());
  for (const row of rows) seen.current.set(row.id, row);
  const count = selection.selected.value.size;
  const reason = permissionHint(models, "user_manager") ??
    (count > MAX_CHANGED ? t("tokens.bulk_too_many", { count: MAX_CHANGED }) : undefined);
  const change = async ({ does, tokens }: Asked) => {
    const { done, failed } = await changeTokens(models, { does, ids: tokens.map(({ id }) => id) });
    failures.value = failed.map(({ id, detail }) =>
      `${tokens.find((token) => token.id === id)?.serial ?? id}: ${detail}`
    );
    selection.clear();
    selection.select(failed.map(({ id }) => id));
    if (done.length > 0) {
      models.toasts.show(t(`tokens.bulk_${does}_done`, { count: done.length }), { tone: "ok" });
    }
    onChanged();
  };
  return (
    <>
      {failures.value.length > 0 && (
        <Alert tone="bad" role="alert">
          {t("tokens.bulk_failed", { count: failures.value.length })}
          <NameList names={failures.value} />
        </Alert>
      )}
      <SelectionBar
        selection={selection}
        total={null}
        actions={ACTIONS.map((does) => ({
          label: bulkLabel(does),
          isBad: does === "remove",
          reason,
          run: () => {
            failures.value = [];
            const ids = [...selection.selected.peek()];
            asked.value = { does, tokens: ids.flatMap((id) => seen.current.get(id) ?? []) };
          },
        }))}
      />
      {asked.value !== null && (
        <ChangeSeveral
          asked={asked.value}
          onConfirm={change}
          onClose={() => asked.value = null}
        />
      )}
    </>
  );
}

function ChangeSeveral({ asked, onConfirm, onClose }: {
  asked: Asked;
  onConfirm: (asked: Asked) => Promise<void>;
  onClose: () => void;
}) {
  const { does, tokens } = asked;
  const users = new Set(tokens.flatMap(({ user }) => user === null ? [] : [user])).size;
  return (
    <ConfirmDialog
      title={t(`tokens.bulk_${does}_title`, { count: tokens.length })}
      submitLabel={bulkLabel(does)}
      count={tokens.length}
      onConfirm={() => onConfirm(asked)}
      onClose={onClose}
    >
      {users > 0 && <p>{t("tokens.bulk_users", { count: users })}</p>}
      <NameList
        names={tokens.map(({ serial, user }) => user === null ? serial : `${serial}, ${user}`)}
      />
      <p>{t(`tokens.bulk_${does}_what`)}</p>
    </ConfirmDialog>
  );
}

function bulkLabel(does: TokenBulkAction): string {
  switch (does) {
    case "unassign":
      return t("tokens.do_unassign");
    case "disable":
      return t("common.disable");
    case "enable":
      return t("common.enable");
    case "remove":
      return t("tokens.do_remove");
  }
}

function changeTokens(
  { api, session }: Models,
  { does, ids }: { does: TokenBulkAction; ids: readonly string[] },
): Promise<TokenBulkResult> {
  const json = { does, ids: [...ids] };
  return session.whileSignedIn(() => take(api["hardware-tokens"].bulk.$post({ json })));
}
