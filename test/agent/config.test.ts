/** The configuration: defaults that run the sandbox, and one line for every wrong value. */
import { expect } from 'chai'
import { ConfigError, readConfig } from '../../agent/config.ts'

const WRONG: [variable: string, value: string, rule: RegExp][] = [
  ['MODE', 'production', /testnet or mainnet/],
  ['FACILITATOR', 'http://10.0.0.1', /sandbox/],
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
  ['LOG_LEVEL', 'loud', /level/],
]

describe('the configuration', () => {
  it('runs the sandbox on the loopback address when nothing is set', () => {
    expect(readConfig({})).to.deep.include({
      mode: 'testnet',
      facilitator: 'sandbox',
      rpcUrl: undefined,
      payTo: undefined,
      host: '127.0.0.1',
      port: 4021,
      dataset: undefined,
      rateLimitPerMinute: 120,
      a2aEnabled: true,
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
    })
    expect(config).to.deep.include({
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

  it('refuses the sandbox on mainnet', () => {
    expect(() => readConfig({ MODE: 'mainnet' })).to.throw(ConfigError, 'FACILITATOR must not be sandbox')
  })
})
