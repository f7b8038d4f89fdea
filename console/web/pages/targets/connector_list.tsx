// The connectors of a directory in their order: state, test, and the changes that the console can make.

import { useSignal } from "@preact/signals";
import type { OneTarget } from "../../../api/targets/target_types.ts";
import { type Action, useAction } from "../../app/action.ts";
import type { Models } from "../../app/app_context.ts";
import type { Resource } from "../../app/resource.ts";
import { permissionHint } from "../../app/session_model.ts";
import { ErrorAlert } from "../../components/alert.tsx";
import { backendLabel } from "../../components/backend_results.tsx";
import { Button } from "../../components/button.tsx";
import { ConfirmDialog } from "../../components/form_dialog.tsx";
import { Panel } from "../../components/page_layout.tsx";
import { StateText } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { ConnectorDialog } from "./connector_dialog.tsx";
import { type Directory, type OnDirectorySaved, saveDirectory } from "./directory_calls.ts";
import {
  connectorPreset,
  connectorRows,
  connectorsOf,
  movedConnector,
  withoutConnector,
} from "./directory_form.ts";
import { retryBackend, testBackend } from "./target_calls.ts";

/** The properties of the parts of a directory's page. */
export interface TargetPart {
  readonly models: Models;
  readonly target: OneTarget;
  readonly page: Resource<OneTarget>;
}

interface ListProps extends TargetPart {
  /** The settings of the directory; `null` while they load. */
  readonly directory: Directory | null;
  /** Why the settings cannot be changed. */
  readonly reason: string | undefined;
  readonly onSaved: OnDirectorySaved;
}

type Row = OneTarget["backends"][number];

export function ConnectorList(props: ListProps) {
  const { models, target, directory, reason, onSaved } = props;
  /** The connector in a dialog: its name, "" for a new one. */
  const editing = useSignal<string | null>(null);
  const removing = useSignal<Row | null>(null);
  const action = useAction();
  return (
    <Panel title={t("common.connectors")}>
      <p class="quiet">{t("targets.order_why")}</p>
      <ErrorAlert of={action.fault} />
      <ol class="people-list connect-order">
        {target.backends.map((row) => (
          <OneConnector
            key={row.name}
            {...props}
            {...{ row, action }}
            onEdit={() => editing.value = row.name}
            onRemove={() => removing.value = row}
          />
        ))}
      </ol>
      <Button icon="plus" reason={reason} onClick={() => editing.value = ""}>
        {t("targets.add_connector")}
      </Button>
      {editing.value !== null && directory !== null && (
        <ConnectorDialog
          {...{ models, directory, onSaved }}
          name={editing.value === "" ? null : editing.value}
          onClose={() => editing.value = null}
        />
      )}
      {removing.value !== null && directory !== null && (
        <RemoveConnector
          {...{ models, directory, onSaved }}
          row={removing.value}
          onClose={() => removing.value = null}
        />
      )}
    </Panel>
  );
}

interface OneProps extends ListProps {
  readonly row: Row;
  readonly action: Action;
  readonly onEdit: () => void;
  readonly onRemove: () => void;
}

function OneConnector(props: OneProps) {
  const { models, directory, row } = props;
  const table = directory === null
    ? undefined
    : connectorsOf(directory.table).find(([name]) => name === row.name)?.[1];
  return (
    <li>
      <span class="connector-about">
        <strong class="mono">{row.name}</strong>
        <span class="quiet">
          {table === undefined ? row.kind : t(`targets.type_${connectorPreset(table)}`)} ·{" "}
          {row.isReadOnly === true ? t("targets.access_read") : t(`targets.mode_${row.mode}`)}
        </span>
        {row.kind !== "store" && <Access row={row} />}
        <StateText words={backendLabel(row)} />
        <State models={models} row={row} />
        {table !== undefined && <Facts rows={connectorRows(table)} name={row.name} />}
      </span>
      <span class="people-actions">
        <Checks {...props} />
        <Changes {...props} />
      </span>
    </li>
  );
}

/** Whether the gateway may change the directory behind the connector. */
function Access({ row: { isReadOnly } }: { row: Row }) {
  return isReadOnly === true
    ? <StateText words={{ tone: "idle", shape: "ring", label: t("targets.never_written") }} />
    : <StateText words={{ tone: "wait", shape: "diamond", label: t("targets.may_be_written") }} />;
}

/** The actions that change no setting. */
function Checks({ models, target, page, row, action }: OneProps) {
  const run = (call: () => Promise<OneTarget>, said: string) =>
    action.run(async () => {
      page.set(await call());
      models.toasts.show(said, { tone: "ok" });
    });
  const common = { small: true, disabled: action.busy.value, of: row.name };
  return (
    <>
      {row.kind !== "store" && (
        <Button
          {...common}
          reason={permissionHint(models, "operator")}
          onClick={() => run(() => testBackend(models, target.name, row.name), t("targets.tested"))}
        >
          {t("common.test")}
        </Button>
      )}
      {row.dead > 0 && (
        <Button
          {...common}
          reason={permissionHint(models, "user_manager")}
          onClick={() => run(() => retryBackend(models, target.name, row.name), t("targets.retried"))}
        >
          {t("common.try_again")}
        </Button>
      )}
    </>
  );
}

/** The actions that change the settings of the directory. */
function Changes({ models, target, directory, row, action, reason, onSaved, onEdit, onRemove }: OneProps) {
  const { name, kind } = row;
  const last = target.backends.length - 1;
  const at = target.backends.indexOf(row);
  const move = (by: -1 | 1) =>
    action.run(async () => {
      if (directory === null) return;
      const table = movedConnector(directory.table, { name, by });
      await onSaved(t("targets.moved", { name }), await saveDirectory(models, directory, table));
    });
  const common = { small: true, reason, of: name };
  const busy = action.busy.value;
  return (
    <>
      {last > 0 && (
        <>
          <Button
            {...common}
            disabled={busy}
            reason={reason ?? (at === 0 ? t("targets.is_first") : undefined)}
            onClick={() => move(-1)}
          >
            {t("targets.move_up")}
          </Button>
          <Button
            {...common}
            disabled={busy}
            reason={reason ?? (at === last ? t("targets.is_last") : undefined)}
            onClick={() => move(1)}
          >
            {t("targets.move_down")}
          </Button>
        </>
      )}
      {kind !== "store" && <Button {...common} disabled={busy} onClick={onEdit}>{t("common.edit")}</Button>}
      {last > 0 && <Button {...common} disabled={busy} onClick={onRemove}>{t("common.remove")}</Button>}
    </>
  );
}

function State({ models, row: { lastGoodMs, lastFault, owed, dead } }: { models: Models; row: Row }) {
  return (
    <>
      {lastGoodMs !== null && (
        <span class="quiet">
          {t("common.last_good")} <Time models={models} atMs={lastGoodMs} />
        </span>
      )}
      {lastFault !== null && (
        <span class="quiet">
          {t("targets.last_fault")} <Time models={models} atMs={lastFault.atMs} />:{" "}
          <bdi class="wrap">{lastFault.detail}</bdi>
        </span>
      )}
      {owed + dead > 0 && <span>{t("targets.owes", { owed, dead })}</span>}
    </>
  );
}

function Facts({ rows, name }: { rows: ReturnType<typeof connectorRows>; name: string }) {
  if (rows.length === 0) return null;
  return (
    <details class="connect-more connector-facts">
      <summary>
        {t("targets.connection")}
        <span class="unseen">{` ${name}`}</span>
      </summary>
      <dl class="connect-facts">
        {rows.map((row) => (
          <div key={row.name}>
            <dt>{row.name}</dt>
            <dd class="mono">
              <bdi>{row.value}</bdi>
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

interface RemoveProps extends Pick<ListProps, "models" | "onSaved"> {
  readonly directory: Directory;
  readonly row: Row;
  readonly onClose: () => void;
}

function RemoveConnector({ models, directory, row: { name, owed, dead }, onSaved, onClose }: RemoveProps) {
  return (
    <ConfirmDialog
      title={t("common.remove_title", { name })}
      submitLabel={t("common.remove_name", { name })}
      onConfirm={async () => {
        const table = withoutConnector(directory.table, name);
        await onSaved(
          t("common.name_removed", { name }),
          await saveDirectory(models, directory, table),
        );
      }}
      onClose={onClose}
    >
      <p>{t("targets.remove_connector_why", { name, directory: directory.name })}</p>
      {owed + dead > 0 && <p>{t("targets.remove_connector_owed", { count: owed + dead })}</p>}
    </ConfirmDialog>
  );
}
