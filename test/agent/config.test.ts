/** The configuration: defaults that run the sandbox, and one line for every wrong value. */
import { expect } from 'chai'
import { ConfigError, readConfig } from '../../agent/config.ts'

const WRONG: [variable: string, value: string, rule: RegExp][] = [
  ['MODE', 'production', /testnet or mainnet/],
  ['FACILITATOR', 'http://10.0.0.1', /sandbox/],
  ['FACILITATOR', 'https://user:secret@facilitator.example', /password/],
  ['FACILITATOR', 'https://facilitator.example/?key=secret', /query/],
  ['FACILITATOR', 'somewhere', /self/],
  ['FACILITATOR_AUTHORIZATION', 'Bearer a\nb', /header/],
  ['FACILITATOR_AUTHORIZATION', '', /header/],
  ['RELAYER_KEY_FILE', '', /must/],
  ['RPC_URL', 'https://node.example/key', /loopback/],
  ['RPC_URL', 'https://user:secret@node.example', /password/],
  ['RESPONSE_RETENTION_DAYS', '29', /30 or more/],
  ['RESPONSE_RETENTION_DAYS', '30.5', /30 or more/],
  ['RPC_URL', 'http://10.0.0.1:8545', /loopback/],
  ['RPC_URL', 'nonsense', /URL/],
  ['PAY_TO', '0x0000000000000000000000000000000000000000', /not zero/],
  ['PAY_TO', '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02914', /checksum/],
  ['PAY_TO', '0x833589FCD6EDB6E08F4C7C32D4F71B54BDA02913', /checksum/],
  ['PAY_TO', 'me', /address/],
  ['HOST', '', /must/],
  ['PORT', '', /port/],
  ['PORT', '65536', /port/],
  ['PORT', '-1', /port/],
  ['PORT', '80a', /port/],
  ['BASE_URL', 'nonsense', /URL/],
  ['BASE_URL', 'ftp://host', /http/],
  ['BASE_URL', 'http://host/path', /nothing after/],
  ['BASE_URL', 'http://host/', /nothing after/],
  ['BASE_URL', 'http://host?query', /nothing after/],
  ['DATASET', '', /must/],
  ['DATASET', 'http://opendata.example/companies.zip', /https/],
  ['DATASET', 'https://user:secret@opendata.example/companies.zip', /password/],
  ['DATASET', 'ftp://127.0.0.1/companies.zip', /https/],
  ['DATASET', 'https://', /https/],
  ['RATE_LIMIT_PER_MINUTE', '0', /above zero/],
  ['RATE_LIMIT_PER_MINUTE', '1.5', /whole number/],
  ['A2A_ENABLED', 'yes', /true or false/],
  ['ERC8004_AGENT_ID', '', /whole number/],
  ['ERC8004_AGENT_ID', '01', /whole number/],
  ['ERC8004_AGENT_ID', '-1', /whole number/],
  ['ERC8004_AGENT_ID', '0x1', /whole number/],
  ['ERC8004_AGENT_ID', '9007199254740992', /whole number/],
  ['ERC8004_OWNER', '0x0000000000000000000000000000000000000000', /not zero/],
  ['ERC8004_OWNER', '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02914', /checksum/],
  ['ERC8004_OWNER', '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', /must come with ERC8004_AGENT_ID/],
  ['CONTACT_EMAIL', '', /e-mail/],
  ['CONTACT_EMAIL', 'nobody', /e-mail/],
  ['CONTACT_EMAIL', 'a@b.example, c@d.example', /e-mail/],
  ['CONTACT_EMAIL', 'a@b.example\n', /e-mail/],
  ['CONTACT_EMAIL', 'é@b.example', /ASCII/],
  ['CONTACT_EMAIL', '<script>@b.example', /e-mail/],
  ['CONTACT_EMAIL', `a@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(63)}.${'e'.repeat(61)}`, /254/],
  ['LOG_LEVEL', 'loud', /level/],
]

describe('the configuration', () => {
  it('runs the sandbox on the loopback address when nothing is set', () => {
    expect(readConfig({})).to.deep.include({
      mode: 'testnet',
      facilitator: { kind: 'sandbox' },
      retentionDays: 30,
      rpcUrl: undefined,
      payTo: undefined,
      host: '127.0.0.1',
      port: 4021,
      dataset: undefined,
      rateLimitPerMinute: 120,
      a2aEnabled: true,
      contactEmail: undefined,
      logLevel: 'info',
    })
  })

  it('takes what is set', () => {
    const config = readConfig({
      PORT: '0',
      BASE_URL: 'https://companies.example',
      PAY_TO: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
      DATA_DIR: '/tmp/somewhere',
      DATASET: '/tmp/register.zip',
      RPC_URL: 'http://localhost:8545',
      CONTACT_EMAIL: 'help@companies.example',
    })
    expect(config).to.deep.include({
      contactEmail: 'help@companies.example',
      port: 0,
      baseUrl: 'https://companies.example',
      payTo: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
      keysDirectory: '/tmp/somewhere/keys',
      dataset: '/tmp/register.zip',
      rpcUrl: 'http://localhost:8545',
    })
  })

  it('takes a dataset from https, or from http on this machine', () => {
    for (const url of ['https://opendata.example/a.zip?b=c', 'http://127.0.0.1:8080/a.zip', 'http://[::1]/a']) {
      expect(readConfig({ DATASET: url }).dataset).to.equal(url)
    }
  })

  for (const [variable, value, rule] of WRONG) {
    it(`names ${variable} and the rule when it is "${value}", and does not repeat the value`, () => {
      const read = () => readConfig({ [variable]: value })
      expect(read).to.throw(ConfigError, rule)
      expect(read).to.throw(ConfigError, new RegExp(`^${variable} [^\\n]+$`))
      if (value.length > 4) expect(read).to.not.throw(ConfigError, value)
    })
  }

  describe('outside the sandbox', () => {
    const payTo = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'
    const rpcUrl = 'https://node.example/key?a=b'
    const live = { FACILITATOR: 'https://facilitator.example/x402/', RPC_URL: rpcUrl, PAY_TO: payTo }

    for (const MODE of ['mainnet', 'testnet'] as const) {
      it(`takes a facilitator elsewhere, or one's own, on ${MODE}`, () => {
        const url = 'https://facilitator.example/x402'
        expect(readConfig({ ...live, MODE, FACILITATOR_AUTHORIZATION: 'Bearer x y' }).facilitator).to.deep.equal({
          kind: 'remote',
          url,
          authorization: 'Bearer x y',
          rpcUrl,
          payTo,
        })
        const own = readConfig({ ...live, MODE, FACILITATOR: 'self', RELAYER_KEY_FILE: '/keys/relayer' })
        expect(own.facilitator).to.deep.equal({ kind: 'self', relayerKeyFile: '/keys/relayer', rpcUrl, payTo })
      })
    }

    it('sells the register unless told otherwise, never the sample', () => {
      expect(readConfig(live).dataset).to.match(/^https:\/\/opendata\.cro\.ie\//)
      expect(readConfig({ ...live, DATASET: '/tmp/a.zip' }).dataset).to.equal('/tmp/a.zip')
    })

    it('takes plain http to this machine', () => {
      const { facilitator } = readConfig({ ...live, FACILITATOR: 'http://127.0.0.1:9', RPC_URL: 'http://[::1]:8545' })
      expect(facilitator).to.include({ url: 'http://127.0.0.1:9', rpcUrl: 'http://[::1]:8545' })
    })

    for (const [variable, environment] of [
      ['RPC_URL', { ...live, RPC_URL: undefined }],
      ['PAY_TO', { ...live, PAY_TO: undefined }],
      ['RELAYER_KEY_FILE', { ...live, FACILITATOR: 'self' }],
    ] as const) {
      it(`names ${variable} when it is missing`, () => {
        expect(() => readConfig(environment)).to.throw(ConfigError, new RegExp(`^${variable} must be set`))
      })
    }
  })

  it('takes a registry identity, whose number may be 0, with its owner or without', () => {
    const owner = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
    expect(readConfig({}).erc8004).to.equal(undefined)
    expect(readConfig({ ERC8004_AGENT_ID: '0' }).erc8004).to.deep.equal({ agentId: 0n, owner: undefined })
    const last = readConfig({ ERC8004_AGENT_ID: '9007199254740991', ERC8004_OWNER: owner })
    expect(last.erc8004).to.deep.equal({ agentId: 9_007_199_254_740_991n, owner })
  })

  it('refuses the sandbox on mainnet', () => {
    expect(() => readConfig({ MODE: 'mainnet' })).to.throw(ConfigError, 'FACILITATOR must not be sandbox')
  })
})
