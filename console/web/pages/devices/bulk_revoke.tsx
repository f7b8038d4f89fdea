// The bar below the list of authenticators with selected rows, and the dialog that revokes them.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { DeviceRow, RevocationResult } from "../../../api/groups/group_types.ts";
import { take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import type { Selection } from "../../app/selection.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert } from "../../components/alert.tsx";
import { ConfirmDialog } from "../../components/form_dialog.tsx";
import { NameList } from "../../components/name_list.tsx";
import { SelectionBar } from "../../components/selection_bar.tsx";
import { t } from "../../i18n/translate.ts";
import { deviceCalled, factorLabel } from "../users/user_states.tsx";

/** The server accepts as many in one request. */
const MAX_REVOKED = 100;

interface BulkRevokeProps {
  readonly models: Models;
  readonly selection: Selection;
  /** The rows of the shown page. */
  readonly rows: readonly DeviceRow[];
  readonly onRevoked: () => void;
}

export function BulkRevoke({ models, selection, rows, onRevoked }: BulkRevokeProps) {
  const asked = useSignal<readonly DeviceRow[] | null>(null);
  const failures = useSignal<readonly string[]>([]);
  // Rows of other pages stay selected, and the dialog names them, too.
  const seen = useRef(new Map<string, DeviceRow>());
  for (const row of rows) seen.current.set(row.id, row);
  const count = selection.selected.value.size;
  const reason = permissionHint(models, "user_manager") ??
    (count > MAX_REVOKED ? t("devices.bulk_too_many", { count: MAX_REVOKED }) : undefined);
  const revoke = async (chosen: readonly DeviceRow[]) => {
    const { revoked, failed } = await revokeDevices(models, chosen.map(({ id }) => id));
    failures.value = failed.map(({ id, detail }) =>
      `${deviceName(chosen.find((row) => row.id === id))}: ${detail}`
    );
    selection.clear();
    selection.select(failed.map(({ id }) => id));
    if (revoked.length > 0) {
      models.toasts.show(t("devices.bulk_revoked", { count: revoked.length }), { tone: "ok" });
    }
    onRevoked();
  };
  return (
    <>
      {failures.value.length > 0 && (
        <Alert tone="bad" role="alert">
          {t("devices.bulk_failed", { count: failures.value.length })}
          <NameList names={failures.value} />
        </Alert>
      )}
      <SelectionBar
        selection={selection}
        total={null}
        actions={[{
          label: t("common.revoke"),
          isBad: true,
          reason,
          run: () => {
            failures.value = [];
            asked.value = [...selection.selected.peek()].flatMap((id) => seen.current.get(id) ?? []);
          },
        }]}
      />
      {asked.value !== null && (
        <RevokeSeveral
          rows={asked.value}
          onConfirm={revoke}
          onClose={() => asked.value = null}
        />
      )}
    </>
  );
}

interface RevokeSeveralProps {
  readonly rows: readonly DeviceRow[];
  readonly onConfirm: (rows: readonly DeviceRow[]) => Promise<void>;
  readonly onClose: () => void;
}

function RevokeSeveral({ rows, onConfirm, onClose }: RevokeSeveralProps) {
  const users = new Set(rows.map(({ user }) => user)).size;
  return (
    <ConfirmDialog
      title={t("devices.bulk_title", { count: rows.length })}
      submitLabel={t("common.revoke")}
      count={rows.length}
      onConfirm={() => onConfirm(rows)}
      onClose={onClose}
    >
      <p>{t("devices.bulk_users", { count: users })}</p>
      <NameList names={rows.map(deviceName)} />
      <p>{t("devices.bulk_what")}</p>
    </ConfirmDialog>
  );
}

/** "ada, Phone, Pixel of Ada" */
function deviceName(row: DeviceRow | undefined): string {
  if (row === undefined) return "";
  return [row.user, factorLabel(row.kind), deviceCalled(row)].filter((part) => part !== "").join(", ");
}

function revokeDevices({ api, session }: Models, ids: readonly string[]): Promise<RevocationResult> {
  return session.whileSignedIn(() => take(api.devices.revoke.$post({ json: { ids: [...ids] } })));
}
