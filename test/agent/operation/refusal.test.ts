/** The table of refusals. Its codes and statuses are stable. */
import { expect } from 'chai'
import { REFUSALS } from '../../../agent/operation/refusal.ts'

const CODES_BY_STATUS: Record<number, string> = {
  400:
    'invalid_company_number invalid_query invalid_body duplicate_parameter unexpected_input query_too_broad ' +
    'batch_too_large malformed_request',
  402: 'payment_required payment_invalid payment_rejected payment_failed',
  403: 'origin_not_allowed',
  404: 'company_not_found date_not_covered not_found',
  405: 'method_not_allowed',
  408: 'request_timeout',
  409: 'source_data_conflict payment_replay_conflict payment_already_settled',
  413: 'body_too_large',
  415: 'unsupported_media_type',
  429: 'rate_limited',
  431: 'headers_too_large',
  500: 'internal_error',
  502: 'gateway_unavailable',
  503:
    'dataset_unavailable dataset_stale payment_verification_unavailable clock_wrong overloaded registry_unchecked ' +
    'payment_outcome_unknown',
}

describe('the table of refusals', () => {
  it('[7.2, 7.3] has exactly the published codes, with their statuses', () => {
    const found: Record<number, string[]> = {}
    for (const [code, { status }] of Object.entries(REFUSALS)) (found[status] ??= []).push(code)
    expect(Object.keys(found)).to.have.members(Object.keys(CODES_BY_STATUS))
    for (const [status, codes] of Object.entries(CODES_BY_STATUS))
      expect(found[Number(status)]).to.have.members(codes.split(' '))
  })

  it('[7.2] advises to repeat the request with the same payment when the charge is unknown', () => {
    const unknown = Object.values(REFUSALS).filter(({ charged }) => charged === 'unknown')
    for (const { status, advice } of unknown) {
      expect(status).to.be.greaterThan(499)
      expect(advice).to.match(/same payment/)
    }
    expect(unknown).to.have.length(3)
  })
})
