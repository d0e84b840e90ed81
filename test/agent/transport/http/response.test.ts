/** Outcomes as HTTP responses. */
import { expect } from 'chai'
import { renderOutcome } from '../../../../agent/transport/http/response.ts'
import { refused } from '../../../../agent/operation/outcome.ts'
import { REFUSALS, type RefusalCode } from '../../../../agent/operation/refusal.ts'

const CODES = Object.keys(REFUSALS) as RefusalCode[]

describe('the response to an outcome', () => {
  it('[7.8] has Retry-After with every 503', () => {
    const unavailable = CODES.filter((code) => REFUSALS[code].status === 503)
    expect(unavailable).to.include.members(['overloaded', 'registry_unchecked', 'payment_outcome_unknown'])
    for (const code of unavailable)
      expect(renderOutcome(refused({ code })).headers['Retry-After'], code).to.match(/^[1-9][0-9]*$/)
  })

  it('[7.8] has the Retry-After of the refusal instead, if it has one', () => {
    const { headers } = renderOutcome(refused({ code: 'overloaded', retryAfterSeconds: 17 }))
    expect(headers['Retry-After']).to.equal('17')
    for (const code of CODES.filter((each) => REFUSALS[each].status < 500))
      expect(renderOutcome(refused({ code })).headers, code).not.to.have.property('Retry-After')
  })
})
