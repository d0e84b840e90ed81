/** Variables that do nothing are found, with the reason. */
import { expect } from 'chai'
import { readConfig, VARIABLE_NAMES, findIgnored } from '../../../agent/service/config.ts'

const REMOVED = {
  ADDRESS_BUDGET: /RATE_LIMIT_PER_MINUTE/,
  CDP_API_KEY_SECRET_FILE: /^CDP_API_KEY_SECRET takes the path$/,
  CONTACT_EMAIL: /contact/,
  ERC8004_OWNER: /\/agent\.json/,
  FINAL_CONFIRMATIONS: /900 blocks/,
  MCP_ENABLED: /always on/,
}

const ignoredIn = (environment: Record<string, string>) => findIgnored(environment, readConfig(environment))

describe('[14.1] variables that do nothing', () => {
  for (const [variable, reason] of Object.entries(REMOVED)) {
    it(`include the removed ${variable}, with what replaces it and without its value`, () => {
      expect(VARIABLE_NAMES.has(variable)).to.equal(false)
      const [found, ...more] = ignoredIn({ [variable]: 'Zz7value' })
      expect(more).to.deep.equal([])
      expect(found?.variable).to.equal(variable)
      expect(found?.reason).to.match(reason).and.not.contain('Zz7value')
    })
  }

  it('include misspelt names, with the right one', () => {
    expect(ignoredIn({ PAYTO: 'x', RPCURL: 'y', data_dir: 'z', HOSTS: 'w' })).to.deep.equal([
      { variable: 'PAYTO', reason: 'the name is PAY_TO' },
      { variable: 'RPCURL', reason: 'the name is RPC_URL' },
      { variable: 'data_dir', reason: 'the name is DATA_DIR' },
    ])
  })

  it('are none of those that the program reads', () => {
    expect(
      ignoredIn({ RATE_LIMIT_PER_MINUTE: '5', MODE: 'testnet', ERC8004_AGENT_ID: '1', PATH: '/bin' }),
    ).to.deep.equal([])
  })
})

describe('the variables', () => {
  it('are at most 24', () => expect(VARIABLE_NAMES.size).to.be.at.most(24))
})
