// The records of the second-factor service, as in its documentation.

/** A pairing as the fake stores it; change it with `FakeSecondFactor.changePairing`. */
export interface FakePairing {
  readonly id: string;
  readonly userName: string;
  readonly enabled: boolean;
  readonly pending: boolean;
  readonly deactivated: boolean;
  readonly totpLength: number;
}

/** An authentication request as the fake stores it. */
export interface FakeRequest {
  readonly id: string;
  readonly pairingId: string;
  readonly terminalName: string;
  readonly pending: boolean;
  readonly granted: boolean;
  readonly cancelled: boolean;
  readonly reason: string;
}

const STAMP = { created: "2014-10-29 20:11:52", modified: "2014-10-29 20:11:52" };

function requesterRecord() {
  return {
    ...STAMP,
    consumer: { key: "test-key" },
    id: "0bd0e1b5-3a5a-4b3a-9d4f-000000000001",
    name: "Fake requester",
  };
}

function userRecord(name: string) {
  return { ...STAMP, requester: requesterRecord(), id: "0bd0e1b5-3a5a-4b3a-9d4f-000000000002", name };
}

function authenticatorRecord() {
  return {
    ...STAMP,
    consumer: { key: "phone-key" },
    id: "0bd0e1b5-3a5a-4b3a-9d4f-000000000003",
    name: "Fake phone",
  };
}

export function pairingRecord(pairing: FakePairing) {
  return {
    authenticator_type: "c2dm",
    totp_length: pairing.totpLength,
    ...STAMP,
    created_seconds_since_epoch: 1414613512,
    deactivated: pairing.deactivated,
    enabled: pairing.enabled,
    pending: pairing.pending,
    handleable: true,
    reason: "",
    reason_code: 0,
    minimum_version: 0,
    authenticator: authenticatorRecord(),
    id: pairing.id,
    user: userRecord(pairing.userName),
  };
}

export function requestRecord(request: FakeRequest, pairing: FakePairing) {
  return {
    id: request.id,
    ...STAMP,
    created_seconds_since_epoch: 1414613512,
    granted: request.granted,
    pending: request.pending,
    cancelled: request.cancelled,
    automated: false,
    automation_requested: false,
    automation_allowed: true,
    challenge_required: false,
    handleable: true,
    totp_valid: false,
    reason: request.reason,
    reason_code: 0,
    minimum_version: 0,
    terminal: {
      ...STAMP,
      id: "0bd0e1b5-3a5a-4b3a-9d4f-000000000004",
      name: request.terminalName,
      name_extra: "",
      user: userRecord(pairing.userName),
    },
    pairing: pairingRecord(pairing),
    authenticator: authenticatorRecord(),
    action: {
      ...STAMP,
      requester: requesterRecord(),
      id: "0bd0e1b5-3a5a-4b3a-9d4f-000000000005",
      name: "log in",
    },
  };
}
