// The packet and attribute numbers of the tests (RFC 2865, RFC 3579, RFC 5997), independent of the product's tables.

/** The packet types of the tests. */
export const CODES = {
  accessRequest: 1,
  accessAccept: 2,
  accessReject: 3,
  accountingRequest: 4,
  accountingResponse: 5,
  accessChallenge: 11,
  statusServer: 12,
} as const;

/** The attribute types of the tests. */
export const TYPES = {
  userName: 1,
  userPassword: 2,
  nasPort: 5,
  replyMessage: 18,
  state: 24,
  callingStationId: 31,
  proxyState: 33,
  acctStatusType: 40,
  acctSessionId: 44,
  eapMessage: 79,
  messageAuthenticator: 80,
} as const;
