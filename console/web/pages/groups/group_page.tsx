// The page of a group: its members, its reply attributes, its backends, and its deletion.

import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { BackendState } from "../../../../scim/schema/resource.ts";
import type { GroupView, MemberPage, MemberRow } from "../../../api/groups/group_types.ts";
import { hasFailure, type ResultMessage, toFailureMessage, toResultMessage } from "../../app/action.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { useResource } from "../../app/resource.ts";
import { permissionHint } from "../../app/session_model.ts";
import {
  BackendChoice,
  backendMessage,
  firstChoice,
  noBackendReason,
  notStoredText,
  ResultAlert,
  showReceiptToast,
  writableNames,
} from "../../components/backend_results.tsx";
import { Button } from "../../components/button.tsx";
import { EmptyState, Fetched } from "../../components/alert.tsx";
import { ConfirmDialog } from "../../components/form_dialog.tsx";
import { AuditLink, PageBar, Panel } from "../../components/page_layout.tsx";
import { t } from "../../i18n/translate.ts";
import { pageNumber } from "../../app/filters.ts";
import { userHref } from "../../app/routes.ts";
import { createSelection } from "../../app/selection.ts";
import { DataTable, type TableColumn } from "../../components/data_table.tsx";
import { SelectionBar } from "../../components/selection_bar.tsx";
import { SearchBox } from "../../components/search_box.tsx";
import { Pager } from "../../components/list_page.tsx";
import { Chip, StateText } from "../../components/status.tsx";
import { RepliesDialog } from "../../components/replies_dialog.tsx";
import { SearchPicker } from "../../components/search_picker.tsx";
import { InviteButton } from "../enrolment/invite_button.tsx";
import { backendState, userState } from "../users/user_states.tsx";
import { createGroupCalls, type GroupCalls, searchUsers } from "./group_calls.ts";

type Change = Readonly<Record<"add" | "remove", readonly string[]>>;

/** A group of another target gets a new page, without the state of this one. */
export default function GroupPage(props: PageProps) {
  return <GroupOfTarget key={props.models.router.param("target")} {...props} />;
}

function GroupOfTarget({ models, params }: PageProps) {
  const name = params.id ?? "";
  const target = models.router.param("target");
  const calls = createGroupCalls(models, { name, target });
  const loaded = useResource<GroupView>(models, { fetch: calls.read, inputs: [name, target] });
  const said = useSignal<ResultMessage | null>(null);
  const deleting = useSignal(false);
  const group = loaded.state.value.kind === "ready" ? loaded.state.value.value : null;
  const shown = group?.name ?? name;

  /** Shows success as a toast, and a failure as an alert with a retry. A failed undo is a toast, because the page may be closed. */
  const change = async (wanted: Change, { isUndo = false } = {}): Promise<boolean> => {
    try {
      const { group: now, receipt } = await calls.change(wanted);
      if (now !== null) loaded.set(now);
      const result = toResultMessage(textOf(wanted, shown), receipt);
      const isPartial = hasFailure(receipt);
      said.value = isPartial ? result : null;
      if (isPartial && !isUndo) return true;
      models.toasts.show(`${result.text} ${backendMessage(receipt.entries)}`, {
        tone: result.tone,
        ...(wanted.remove.length > 0 && {
          undo: async () => void await change({ add: wanted.remove, remove: [] }, { isUndo: true }),
        }),
      });
      return true;
    } catch (fault) {
      const failure = toFailureMessage(t("common.group_unchanged", { group: shown }), fault);
      if (isUndo) models.toasts.show(failure.text, { tone: failure.tone });
      else said.value = failure;
      return false;
    }
  };
  return (
    <main class="page" id="page">
      <PageBar
        title={shown}
        back={{ href: "/groups", label: t("groups.all_groups") }}
        chips={group !== null && <GroupBackends group={group} />}
      >
        <GroupActions models={models} name={shown} group={group} onDelete={() => deleting.value = true} />
      </PageBar>
      {said.value !== null && <ResultAlert said={said} onRetry={() => loaded.reload()} />}
      <Fetched resource={loaded}>
        {(value) => (
          <div class="group-columns">
            <GroupMembers models={models} group={value} calls={calls} onChange={change} />
            <GroupPolicy
              models={models}
              group={value}
              calls={calls}
              onChanged={(now) => loaded.set(now)}
            />
          </div>
        )}
      </Fetched>
      {deleting.value && group !== null && (
        <DeleteGroupDialog
          models={models}
          group={group}
          calls={calls}
          onClose={() => deleting.value = false}
        />
      )}
    </main>
  );
}

interface GroupActionsProps {
  readonly models: Models;
  readonly name: string;
  readonly group: GroupView | null;
  readonly onDelete: () => void;
}

function GroupActions({ models, name, group, onDelete }: GroupActionsProps) {
  return (
    <>
      <AuditLink object={`group:${name}`} />
      {group?.logsIn === true && (
        <InviteButton
          models={models}
          label={t("groups.invite")}
          name={name}
          users={() => ({ group: name })}
        />
      )}
      {group !== null && (
        <Button kind="bad" icon="trash-2" reason={permissionHint(models, "user_manager")} onClick={onDelete}>
          {t("groups.delete")}
        </Button>
      )}
    </>
  );
}

function textOf({ add, remove }: Change, group: string): string {
  if (remove.length > 0) return t("groups.took_out", { count: remove.length, group });
  return add.length === 1
    ? t("common.added_to_group", { name: add[0] ?? "", group })
    : t("groups.put_back", { count: add.length, group });
}

function DeleteGroupDialog({ models, group, calls, onClose }: {
  models: Models;
  group: GroupView;
  calls: GroupCalls;
  onClose: () => void;
}) {
  const chosen = useSignal(firstChoice(group.backends));
  const { name, members, replies, backends, version } = group;
  const from = chosen.value ?? writableNames(backends);
  const remove = async () => {
    const { receipt } = await calls.remove({ backends: chosen.value, version });
    showReceiptToast(models, t("groups.deleted", { name }), receipt, "removed");
    models.router.go("/groups");
  };
  return (
    <ConfirmDialog
      title={t("groups.delete_title", { name })}
      submitLabel={t("common.delete_name", { name })}
      count={Math.max(1, members)}
      word={name}
      reason={noBackendReason(chosen, group.backends)}
      onConfirm={remove}
      onClose={onClose}
    >
      <ul class="people-consequences">
        <li>
          {t("common.deleted_from", { count: from.length })} <bdi>{from.join(", ")}</bdi>
        </li>
        <li>{t("groups.delete_members", { count: members })}</li>
        {replies.length > 0 && (
          <li>
            {t("groups.delete_replies")}{" "}
            <bdi class="mono">{replies.map(({ name, value }) => `${name} = ${value}`).join(", ")}</bdi>
          </li>
        )}
      </ul>
      <BackendChoice backends={backends} chosen={chosen} />
    </ConfirmDialog>
  );
}

const PAGE_SIZE = 20;

interface MembersProps {
  readonly models: Models;
  readonly group: GroupView;
  readonly calls: GroupCalls;
  /** Resolves to `false` after a failure. */
  readonly onChange: (change: { add: readonly string[]; remove: readonly string[] }) => Promise<boolean>;
}

function GroupMembers({ models, group, calls, onChange }: MembersProps) {
  const { router } = models;
  const reason = permissionHint(models, "user_manager");
  const selection = useMemo(createSelection, [group.name]);
  const filters = { q: router.param("q"), page: String(pageNumber(models)), size: String(PAGE_SIZE) };
  const list = useResource<MemberPage>(models, {
    fetch: () => calls.members(filters),
    inputs: [group.name, group.version, group.members, ...Object.values(filters)],
  });
  const remove = async (names: readonly string[]) => {
    if (await onChange({ add: [], remove: names })) selection.clear();
  };
  return (
    <Panel title={t("groups.members")}>
      <MemberPicker
        models={models}
        target={group.target}
        reason={reason}
        onPick={async (name) => void await onChange({ add: [name], remove: [] })}
      />
      {group.members > 0 && (
        <div class="people-filters" role="search" aria-label={t("common.filters")}>
          <SearchBox models={models} label={t("groups.search_members")} />
        </div>
      )}
      <Fetched resource={list}>
        {(page) =>
          page.rows.length === 0
            ? filters.q === ""
              ? <EmptyState title={t("groups.no_members")} next={t("groups.no_members_next")} />
              : (
                <EmptyState
                  title={t("groups.no_members_match")}
                  next={t("common.none_match_next")}
                  onClear={() => router.setParams({ q: "", page: "" })}
                />
              )
            : (
              <>
                <DataTable
                  label={t("groups.members_of", { name: group.name })}
                  columns={columnsOf(reason, (name) => void remove([name]))}
                  rows={page.rows}
                  keyOf={({ name }) => name}
                  hrefOf={({ name }) => userHref(name, router.param("target"))}
                  selection={reason === undefined ? selection : undefined}
                  busy={list.busy.value}
                />
                <SelectionBar
                  selection={selection}
                  total={null}
                  actions={[{
                    label: t("common.remove"),
                    run: () => remove([...selection.selected.value]),
                  }]}
                />
                <Pager
                  models={models}
                  page={page.page}
                  pageSize={page.size}
                  shown={page.rows.length}
                  total={page.total}
                />
              </>
            )}
      </Fetched>
    </Panel>
  );
}

function columnsOf(reason: string | undefined, remove: (name: string) => void): TableColumn<MemberRow>[] {
  return [
    { label: t("common.user_name"), cell: ({ name }) => <bdi class="cut" title={name}>{name}</bdi> },
    {
      label: t("common.display_name"),
      priority: 2,
      cell: ({ displayName }) => <bdi class="cut" title={displayName}>{displayName}</bdi>,
    },
    {
      label: t("common.status"),
      width: "190px",
      cell: ({ known, active }) => (
        <StateText
          words={known
            ? userState({ active, locked: false })
            : { label: t("common.not_in_directory"), tone: "idle", shape: "ring" }}
        />
      ),
    },
    {
      label: t("common.remove"),
      width: "120px",
      isPinned: true,
      cell: ({ name }) => (
        <Button small reason={reason} of={name} onClick={() => remove(name)}>
          {t("common.remove")}
        </Button>
      ),
    },
  ];
}

// Reply attributes of a group: the effective attributes of a login with their origin, the editor, and the sync status of the group.

interface PolicyProps {
  readonly models: Models;
  readonly group: GroupView;
  readonly calls: GroupCalls;
  readonly onChanged: (now: GroupView) => void;
}

function GroupPolicy({ models, group, calls, onChanged }: PolicyProps) {
  const editing = useSignal(false);
  const reason = permissionHint(models, "owner") ??
    (!group.logsIn
      ? t("groups.replies_no_login")
      : group.repliesFrom === "settings"
      ? t("groups.replies_where")
      : undefined);
  return (
    <section class="panel people-panel" aria-label={t("groups.replies")}>
      <h2>{t("common.reply_attributes")}</h2>
      {group.effective.length === 0
        ? <p class="quiet">{t(group.logsIn ? "groups.replies_none" : "groups.replies_no_login")}</p>
        : <Effective group={group} />}
      {group.repliesFrom === "settings" && <p class="quiet small">{t("groups.replies_where")}</p>}
      <div>
        <Button reason={reason} onClick={() => editing.value = true}>{t("common.replies_edit")}</Button>
      </div>
      {group.policies !== undefined && group.policies.length > 0 && (
        <p class="small">
          {t("groups.policies")} {group.policies.map((name, at) => (
            <span key={name}>
              {at > 0 && ", "}
              <a href="/policies">
                <bdi>{name}</bdi>
              </a>
            </span>
          ))}
        </p>
      )}
      {group.backends.map(({ name, state }) =>
        state?.notStored !== undefined && (
          <p key={name} class="small">
            <bdi>{name}</bdi>: <bdi>{notStoredText(state.notStored)}</bdi>
          </p>
        )
      )}
      {editing.value && (
        <RepliesDialog
          title={t("common.reply_attributes_of", { name: group.name })}
          hint={t("groups.replies_hint")}
          edited={group}
          calls={calls}
          onDone={(now: GroupView) => {
            onChanged(now);
            models.toasts.show(t("groups.replies_saved", { name: now.name }), { tone: "ok" });
          }}
          onClose={() => editing.value = false}
        />
      )}
    </section>
  );
}

/** The sync status of the group at each connector, for the heading. */
function GroupBackends({ group: { backends } }: Pick<PolicyProps, "group">) {
  return (
    <>
      {backends.map(({ name, state }) => {
        const words = backendState(markOf(state));
        return <Chip key={name} words={{ ...words, label: `${name}: ${words.label}` }} />;
      })}
    </>
  );
}

function markOf(state: BackendState | null): Parameters<typeof backendState>[0] {
  if (state === null) return null;
  return {
    state: state.state,
    differs: state.differs === true,
    ...(state.notStored === undefined ? {} : { notStored: state.notStored.count }),
  };
}

function Effective({ group: { name, effective } }: Pick<PolicyProps, "group">) {
  return (
    <div class="table-frame" role="region" aria-label={t("groups.effective_of", { name })} tabIndex={0}>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">{t("common.attribute")}</th>
            <th scope="col">{t("common.value")}</th>
            <th scope="col">{t("groups.reply_from")}</th>
          </tr>
        </thead>
        <tbody>
          {effective.map((row) => (
            <tr key={`${row.from} ${row.name}`}>
              <th scope="row" class="mono">{row.name}</th>
              <td class="mono">
                <bdi>{row.value}</bdi>
              </td>
              <td>{t(row.from === "group" ? "groups.from_group" : "groups.from_default")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

// The search picker that adds a member to a group.

interface PickerProps {
  readonly models: Models;
  readonly target: string;
  readonly onPick: (user: string) => Promise<void>;
  /** Why no member can be added. */
  readonly reason?: string | undefined;
}

function MemberPicker({ models, target, onPick, reason }: PickerProps) {
  return (
    <SearchPicker
      id="member-picker"
      label={t("groups.add_member")}
      hint={t("groups.add_hint")}
      none={t("common.no_users_match")}
      optionsLabel={t("groups.found_users")}
      target={target}
      find={async (text) =>
        (await searchUsers(models, { target, text })).map(({ name, displayName }) => ({
          name,
          more: displayName !== "" && displayName !== name && <bdi class="quiet">{displayName}</bdi>,
        }))}
      onPick={onPick}
      reason={reason}
    />
  );
}
