/** The command `registry`: what a service says of itself, and a call that the registry takes as it is printed. */
import { expect } from 'chai'
import type { Hex } from 'viem'
import { registryCommand } from '../../../agent/registry/command.ts'
import { REGISTRIES } from '../../../agent/registry/contracts.ts'
import { sendAs } from '../../../agent/sandbox/install.ts'
import { AGENT_URI, BASE_URL, newAddress, newAgent, openHouse, type House } from '../../support/registries.ts'

describe('the command registry', () => {
  let house: House
  let agent: Awaited<ReturnType<typeof newAgent>>

  before(async () => {
    agent = await newAgent()
    house = await openHouse({ ...agent, payTo: agent.owner })
  })
  after(() => house.close())

  async function run(args: string[], change: { isPublic?: boolean; fetch?: typeof fetch } = {}) {
    const lines: string[] = []
    const terminal = {
      args,
      print: (line: string) => void lines.push(line),
      network: 'eip155:84532',
      agentUri: AGENT_URI,
    }
    const code = await registryCommand({ ...terminal, fetch, baseUrl: house.url, isPublic: true, ...change })
    return { code, lines, text: lines.join('\n') }
  }

  it('shows what a running service says, line by line', async () => {
    const { code, lines } = await run(['show'])
    expect(code).to.equal(0)
    expect(lines[0]).to.match(/^status +registered$/)
    expect(lines).to.include(`agent_id                ${agent.agentId}`)
    expect(lines).to.include(`registration_file       ${BASE_URL}/.well-known/agent-registration.json`)
    expect((await run(['show', '--url', `${house.url}/`])).lines).to.deep.equal(lines)
  })

  it('prints a call that registers the service', async () => {
    const { code, text } = await run(['register'])
    expect(code).to.equal(0)
    expect(text).to.contain(`to        ${REGISTRIES.identity}`)
    expect(text).to.contain(`agentURI  ${AGENT_URI}`)
    expect(text).to.not.contain('BASE_URL')
    const [, calldata] = /^calldata {2}(0x[0-9a-f]+)$/m.exec(text) ?? []
    const owner = newAddress()
    await sendAs({ url: agent.url, from: owner, to: REGISTRIES.identity }, calldata as Hex)
    const next = await openHouse({ url: agent.url, agentId: agent.agentId + 1n, owner, payTo: owner })
    expect((await next.get('/agent.json')).json).to.include({ status: 'registered', agent_uri_matches: true })
    await next.close()
  })

  it('warns where the URI is reached by nobody else', async () => {
    expect((await run(['register'], { isPublic: false })).text).to.contain('BASE_URL is not set')
  })

  it('says what is wrong with a service, and ends with 1', async () => {
    const answering = (body: string, status = 200) => ({ fetch: async () => new Response(body, { status }) })
    const silent = { fetch: () => Promise.reject(new Error('no')) }
    const unchecked = answering('{"error":{"code":"registry_unchecked","message":"."}}', 503)
    expect(await run(['show'], silent)).to.include({ code: 1, text: 'no service answers there; is it running?' })
    expect(await run(['show'], unchecked)).to.include({ code: 1, text: 'refused: registry_unchecked' })
    for (const body of ['<h1>', '{}', 'null'])
      expect(await run(['show'], answering(body))).to.include({
        code: 1,
        text: 'that is not what /agent.json looks like',
      })
  })

  it('lets no service write to the terminal what it wants', async () => {
    const { json } = await house.get('/agent.json')
    const hostile = { ...json, status: '\u001B[2J\u202Eok' }
    const { text } = await run(['show'], { fetch: async () => new Response(JSON.stringify(hostile)) })
    expect(text).to.contain('status                  \uFFFD[2J\uFFFDok')
  })

  it('explains itself', async () => {
    for (const args of [[], ['list'], ['show', 'more'], ['register', '--url', 'x'], ['--help'], ['show', '--url']]) {
      const { code, text } = await run(args)
      expect(code).to.equal(2)
      expect(text).to.match(/^usage:/)
    }
  })
})
