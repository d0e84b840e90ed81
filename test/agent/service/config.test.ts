/** The configuration: its defaults, and one line for each wrong value. */
import { expect } from 'chai'
import { DEPLOYMENTS } from '../../../agent/payment/terms.ts'
import { ConfigError, readConfig } from '../../../agent/service/config.ts'

/** As libpq and managed services write them. */
const SEVERAL_HOSTS = [
  'postgres://a.example,b.example/db?target_session_attrs=read-write',
  'postgresql://user:secret,@a.example:5432,b.example:5433/db',
  'postgres://a.example%2cb.example',
  'postgres://user@a.example/db?sslmode=require&host=a.example,b.example',
]

/** The values that break a rule of a variable. */
const WRONG: [variable: string, rule: RegExp, ...values: string[]][] = [
  ['MODE', /testnet or mainnet/, 'production'],
  ['FACILITATOR', /sandbox/, 'http://10.0.0.1'],
  ['FACILITATOR', /password/, 'https://user:secret@facilitator.example'],
  ['FACILITATOR', /query/, 'https://facilitator.example/?key=secret'],
  ['FACILITATOR', /self/, 'somewhere'],
  ['FACILITATOR_AUTHORIZATION', /header/, 'Bearer a\nb', ''],
  ['RELAYER_KEY_FILE', /must/, ''],
  ['RPC_URL', /loopback/, 'https://node.example/key', 'http://10.0.0.1:8545'],
  ['RPC_URL', /password/, 'https://user:secret@node.example'],
  ['RESPONSE_RETENTION_DAYS', /from 30/, '29', '30.5'],
  ['RESPONSE_LOG', /URL/, '', 'nonsense'],
  ['RESPONSE_LOG', /postgres/, 'https://user:secret@database.example/companies'],
  ['RESPONSE_LOG', /one host, whose name leads to the primary/, ...SEVERAL_HOSTS],
  ['RPC_URL', /URL/, 'nonsense'],
  ['PAY_TO', /not zero/, '0x0000000000000000000000000000000000000000'],
  ['PAY_TO', /checksum/, '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02914', '0x833589FCD6EDB6E08F4C7C32D4F71B54BDA02913'],
  ['PAY_TO', /address/, 'me'],
  ['HOST', /must/, ''],
  ['PORT', /port/, '', '65536', '-1', '80a'],
  ['ADMIN_PORT', /port number .* or off/, '', '65536', 'none'],
  ['ADMIN_HOST', /must/, ''],
  ['BASE_URL', /URL/, 'nonsense'],
  ['BASE_URL', /http/, 'ftp://host'],
  ['BASE_URL', /nothing after/, 'http://host/path', 'http://host/', 'http://host?query', 'http://hóst'],
  ['DATASET', /must/, ''],
  ['DATASET', /https/, 'http://opendata.example/companies.zip', 'ftp://127.0.0.1/companies.zip', 'https://'],
  ['DATASET', /password/, 'https://user:secret@opendata.example/companies.zip'],
  ['TRUST_PROXY', /0 to 9/, '', '-1', '10', '1.5', 'true'],
  ['RATE_LIMIT_PER_MINUTE', /from 1 to 100000/, '0'],
  ['RATE_LIMIT_PER_MINUTE', /whole number/, '1.5'],
  ['A2A_ENABLED', /true or false/, 'yes'],
  ['OPERATOR_URL', /must be an https URL/, 'http://operator.example', 'ftp://operator.example'],
  ['ERC8004_AGENT_ID', /whole number/, '', '01', '-1', '0x1', '9007199254740992'],
  ['LOG_LEVEL', /level/, 'loud'],
]

const PAY_TO = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

describe('[14.1] the configuration', () => {
  it('is the sandbox on the loopback address by default', () => {
    expect(readConfig({})).to.deep.include({
      mode: 'testnet',
      facilitator: { kind: 'sandbox' },
      retentionDays: 30,
      rpcUrls: [],
      payTo: undefined,
      host: '127.0.0.1',
      port: 4021,
      dataset: undefined,
      trustedProxies: 0,
      rateLimitPerMinute: 120,
      addressBudget: 384,
      a2aEnabled: true,
      agentId: undefined,
      logLevel: 'info',
    })
    expect(readConfig({ ERC8004_AGENT_ID: '0' }).agentId).to.equal(0n)
  })

  it('[14.12] has an admin address by default on testnet, and on mainnet only if it is set', () => {
    const mainnet = { MODE: 'mainnet', FACILITATOR: 'https://a.example', RPC_URL: 'https://b.example', PAY_TO }
    const local = { host: '127.0.0.1', port: 9464 }
    expect(readConfig({}).admin).to.deep.equal({ ...local, isDefaultPort: true })
    expect(readConfig({ ADMIN_PORT: '9464' }).admin).to.deep.equal({ ...local, isDefaultPort: false })
    expect(readConfig({ ADMIN_PORT: 'off' }).admin).to.equal(undefined)
    expect(readConfig(mainnet).admin).to.equal(undefined)
    expect(readConfig({ ...mainnet, ADMIN_PORT: '0', ADMIN_HOST: '::1' }).admin).to.deep.equal({
      host: '::1',
      port: 0,
      isDefaultPort: false,
    })
  })

  it('[4.4.14] has the name and the URL of the operator, or neither', () => {
    expect(() => readConfig({ OPERATOR_NAME: 'A' })).to.throw(ConfigError, 'must be set together')
    const operator = { OPERATOR_NAME: 'A', OPERATOR_URL: 'https://a.example' }
    expect(readConfig(operator).operator).to.deep.equal({ name: 'A', url: 'https://a.example' })
  })

  it('accepts a response log with one host, also with commas elsewhere and without a host', () => {
    const urls = [
      'postgres://a.example/db?target_session_attrs=read-write',
      'postgresql://user:one,two@a.example:5432/a,b?options=-c%20a=b,c',
      'postgres://log@localhost/db?host=/run/postgresql',
    ]
    for (const url of urls) expect(readConfig({ RESPONSE_LOG: url }).responseLog).to.equal(url)
  })

  it('refuses one address for the service and its administration', () => {
    expect(() => readConfig({ PORT: '4021', ADMIN_PORT: '4021' })).to.throw(ConfigError, 'ADMIN_PORT must not be PORT')
    expect(readConfig({ ADMIN_PORT: '4021', ADMIN_HOST: '::1' }).admin?.port).to.equal(4021)
    expect(readConfig({ PORT: '0', ADMIN_PORT: '0' }).admin?.port).to.equal(0)
  })

  for (const [variable, rule, ...values] of WRONG) {
    it(`reports ${variable} and the rule ${rule.source}, without the value`, () => {
      for (const value of values) {
        const read = () => readConfig({ [variable]: value })
        expect(read, value).to.throw(ConfigError, rule)
        expect(read, value).to.throw(ConfigError, new RegExp(`^${variable} [^\\n]+$`))
        if (value.length > 4) expect(read).to.not.throw(ConfigError, value)
      }
    })
  }

  describe('[14.2] outside the sandbox', () => {
    const payTo = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
    const rpcUrl = 'https://node.example/key?a=b'
    const live = { FACILITATOR: 'https://facilitator.example/x402/', RPC_URL: rpcUrl, PAY_TO: payTo }

    for (const MODE of ['mainnet', 'testnet'] as const) {
      it(`accepts a remote facilitator and a relayer key on ${MODE}`, async () => {
        const { facilitator } = readConfig({ ...live, MODE, FACILITATOR_AUTHORIZATION: 'Bearer x y' })
        if (facilitator.kind !== 'remote') return expect.fail(facilitator.kind)
        const [remote, ...others] = facilitator.facilitators
        expect(await remote?.authorization('POST', `${remote.url}/verify`)).to.equal('Bearer x y')
        expect({ ...facilitator, facilitators: [remote?.url, ...others] }).to.deep.equal({
          kind: 'remote',
          facilitators: ['https://facilitator.example/x402'],
          rpcUrls: [rpcUrl],
          payTo,
        })
        const own = readConfig({ ...live, MODE, FACILITATOR: 'self', RELAYER_KEY_FILE: '/keys/relayer' })
        expect(own.facilitator).to.deep.equal({
          kind: 'self',
          relayerKeyFile: '/keys/relayer',
          rpcUrls: [rpcUrl],
          payTo,
        })
      })
    }

    it('retrieves the register by default, never the sample', () => {
      expect(readConfig(live).dataset).to.match(/^https:\/\/opendata\.cro\.ie\//)
      expect(readConfig({ ...live, DATASET: '/tmp/a.zip' }).dataset).to.equal('/tmp/a.zip')
    })

    it('[14.1] names all wrong and missing variables at once', () => {
      const environment = { FACILITATOR: 'self', PORT: 'x', MODE: 'main' }
      expect(() => readConfig(environment)).to.throw(
        ConfigError,
        /^MODE must be testnet or mainnet; PORT must [^;]+; RPC_URL must [^;]+; PAY_TO must be set [^;]+; RELAYER_KEY_FILE must [^;]+$/,
      )
    })

    it('refuses the token of the network as the receiver', () => {
      const { asset } = DEPLOYMENTS.testnet
      for (const token of [asset, asset.toLowerCase()]) {
        expect(() => readConfig({ ...live, PAY_TO: token })).to.throw(ConfigError, 'PAY_TO must be an account')
        expect(readConfig({ ...live, PAY_TO: token, MODE: 'mainnet' }).payTo).to.equal(token)
      }
    })
  })

  describe('[14.2] HOST without BASE_URL', () => {
    const live = {
      FACILITATOR: 'https://facilitator.example',
      RPC_URL: 'https://node.example',
      PAY_TO: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
    }
    it('is refused outside the sandbox, unless it is a loopback address', () => {
      for (const HOST of ['0.0.0.0', '::', '192.0.2.1', 'companies.example', '127.0.0.1.example']) {
        expect(() => readConfig({ ...live, HOST }), HOST).to.throw(ConfigError, /^BASE_URL must be set when HOST /)
        expect(readConfig({ ...live, HOST, BASE_URL: 'https://companies.example' }).host).to.equal(HOST)
        expect(readConfig({ HOST }).host).to.equal(HOST)
      }
      for (const HOST of ['127.0.0.1', '127.8.9.1', '::1', 'localhost'])
        expect(readConfig({ ...live, HOST }).host).to.equal(HOST)
    })
  })

  it('[6.2.2] derives the budget of an address from the limit of sales', () => {
    const budget = (RATE_LIMIT_PER_MINUTE: string) => readConfig({ RATE_LIMIT_PER_MINUTE }).addressBudget
    expect(['1', '120', '154', '100000'].map(budget)).to.deep.equal([384, 384, 385, 250_000])
  })

  it('[6.2.1] divides the limit of sales between processes, and neither the budget nor the published limit', () => {
    const read = (PROCESSES: string) => readConfig({ RATE_LIMIT_PER_MINUTE: '1000', PROCESSES })
    expect(['1', '3', '1000'].map((processes) => read(processes).salesPerMinute)).to.deep.equal([1000, 333, 1])
    expect(readConfig({ RATE_LIMIT_PER_MINUTE: '2', PROCESSES: '3' }).salesPerMinute).to.equal(1)
    for (const processes of ['1', '3'])
      expect(read(processes)).to.include({ rateLimitPerMinute: 1000, addressBudget: 2500 })
  })

  it('[14.2] refuses the sandbox on mainnet', () => {
    expect(() => readConfig({ MODE: 'mainnet' })).to.throw(ConfigError, 'FACILITATOR must not be sandbox')
  })
})
