"""Names and addresses: words that mean the same, as bill and william, st and street; and titles, which mean little.

Each entry is a formal name and its short forms and other spellings, in lower case without accents. A short form may
stand in several entries; the first counts, so of names that share one the commoner goes first. No formal name is the
short form of another, so that replacing words twice does no more than once.
"""

import re
from itertools import pairwise

from lookalike.entities.values import fold

MEN = """
aaron: aron arron; abraham: abe abie abram bram; adrian: ade; albert: al bert bertie albie; alan: al allan allen;
alfred: alf alfie fred freddie al; alexander: alex alec alek lex sandy xander zander alexandre aleksander sasha;
ambrose: brose; andrew: andy drew dru; anthony: tony antony anth; archibald: archie archy arch; arthur: art artie arty;
augustus: gus augie;
barnabas: barney barny barnaby; bartholomew: bart barty; benjamin: ben benny bennie benji benjy benj;
bernard: bernie bern barney; bradley: brad; brandon: bran; brendan: bren; brian: bryan;
calvin: cal; cameron: cam; charles: charlie charley chuck chas chaz chip charly chuckie;
christopher: chris topher kit kris cristopher kristopher christoph; christian: kristian cristian; clement: clem;
clifford: cliff; clinton: clint; conrad: con konrad; cornelius: corny nelius; curtis: curt kurtis; cyril: cy;
daniel: dan danny dannie; darrell: darryl daryl darrel; darren: daz darrin darin; david: dave davey davy davie;
dennis: denny denis den dennie; derek: derrick derick dereck del; desmond: des dez; dexter: dex;
dominic: dom dominick dominik domenic; donald: don donnie donny; douglas: doug dougie douglass; duncan: dunc;
edward: ed eddie eddy ned neddy ted teddy; edmund: ed ned edmond; edwin: ed edwyn; edgar: ed; elijah: eli lije elias;
elliot: eliot elliott eliott; emmanuel: manny emanuel immanuel; eric: erik erick; ernest: ernie ern earnest;
eugene: gene; ezekiel: zeke;
ferdinand: ferdie ferdy; francis: frank frankie; franklin: frank;
frederick: fred freddie freddy fredrick frederic fritz;
gabriel: gabe; gareth: gaz; geoffrey: geoff jeff jeffrey jeffery geoffry; george: georgie geordie;
gerald: gerry jerry jerald; gerard: gerry gerrard; gilbert: gil gib; glenn: glen; gordon: gord gordy gordie;
graham: graeme grahame; gregory: greg gregg greig; gustav: gus gustave;
henry: harry hal hank; harold: harry hal; harvey: harv; herbert: herb herbie bert; howard: howie; hubert: bert hub;
hugh: hughie huey hugo; humphrey: humph;
ian: iain; ignatius: iggy; irving: irv irvin; isaac: ike zak isaak; isidore: izzy;
james: jim jimmy jimmie jamie jimbo jem; john: jack johnny johnnie jon jock jonny johnie jno;
jonathan: jon jonny johnathan jonathon johnathon; joseph: joe joey jos josef; joshua: josh; jacob: jake jakob coby;
jason: jay jase jayson; jeremiah: jerry jem; jeremy: jez jeremey; jerome: jerry; jesse: jess; jordan: jord jordy;
julian: jules jools; julius: jules;
kelvin: kel; kenneth: ken kenny kennith; kevin: kev;
lawrence: larry laurie lawrie laurence; leonard: len lenny leo lennie; leopold: leo poldie; leslie: les; lester: les;
lincoln: linc; lloyd: loyd; louis: lou louie lewis lew; lucas: luke luc lukas;
malcolm: mal malc; marcus: markus; mark: marc marky; marshall: marsh; martin: marty mart martyn; marvin: marv;
matthew: matt mat matty mathew; matthias: mathias matt; maurice: morris moe maury; maximilian: max maxie; maxwell: max;
melvin: mel melvyn; mervyn: merv mervin; michael: mike mikey mick micky mickey mickie micheal mikael; miles: myles;
mitchell: mitch mitchel; mohammed: mohammad muhammad mohamed mohamad muhammed mohd md mo; montgomery: monty monte;
mortimer: mort morty; moses: moe mose;
nathaniel: nathan nate nat nathanael; neil: neal niel; neville: nev;
nicholas: nick nicky nicolas nico nickolas nik nikolas; nigel: nige; norman: norm normie;
oliver: ollie olly; orlando: lando; oscar: ozzy ossie; oswald: oz ozzie ossie;
patrick: pat paddy padraig; paul: paulie; percival: percy perce; peter: pete petey; philip: phil phillip pip;
quentin: quent quintin;
randall: randy rand randal; randolph: randy rand dolph; raphael: rafael rafe rafi; raymond: ray raymund;
reginald: reg reggie; reuben: ruben rube; richard: rich rick dick ricky richie ritchie dickie dicky rickie rickey;
robert: bob rob bobby robbie robby bobbie rab rabbie bert; roderick: rod roddy roderic rick; rodney: rod roddy;
roger: rodger rog; roland: rollie rowland roly; ronald: ron ronnie ronny; rudolph: rudy dolph rudolf;
russell: russ rusty russel;
samuel: sam sammy sammie; scott: scot scotty scottie; sean: shawn shaun; sebastian: seb bas bastian; sidney: sid syd;
sigmund: sig ziggy siggy; simon: si simeon; solomon: sol solly; spencer: spence spenser; stanley: stan;
stephen: steve steven stevie stephan stefan; stuart: stu stewart stew; sylvester: sly;
terence: terry terrence terrance tel; thaddeus: thad tad; theodore: theo ted teddy;
thomas: tom tommy tommie thom tomas tam; timothy: tim timmy timmie; tobias: toby; travis: trav; trevor: trev;
tristan: tris tristram; tyler: ty; tyrone: ty;
vaughn: vaughan; vernon: vern verne; victor: vic viktor; vincent: vince vinny vinnie vin;
wallace: wally wallis; walter: walt wally wat; wesley: wes; wilbur: wilber; wilfred: wilf wilfrid;
william: bill will billy willie willy wills liam; winston: win; woodrow: woody;
xavier: xav;
zachary: zach zack zac zak zachariah zackary zachery;
"""

WOMEN = """
abigail: abby abbie abbey gail abi; adelaide: addie; adeline: addie adaline; agatha: aggie; agnes: aggie nessie;
alexandra: alex lexie lexi alexa alix sasha; alice: allie alyce; alicia: alisha; alison: ali allison alyson allie;
amanda: mandy mandi mandie; amelia: millie milly; amy: aimee amie ami; anastasia: stacy stacey tasia;
andrea: andie andi drea; angela: angie ange; angelina: angie; annabelle: annabel anabel belle; anne: ann annie anna nan;
annette: nettie netta; antoinette: toni nettie; antonia: toni tonia; arabella: bella belle;
ashley: ash ashleigh ashlee ashlie;
barbara: barb babs barbie barbra bobbie; beatrice: bea trixie beatrix; belinda: bel lindy; bernadette: bernie;
bertha: bertie; bethany: beth; beverly: bev beverley; brenda: bren; brianna: bri breanna;
bridget: biddy bridie bridgette brigid brigitte; brittany: brit britt britney brittney;
camilla: milla millie; candace: candy candice candi; carla: karla; carol: carole caryl; caroline: carrie caro carolyn;
cassandra: cass cassie kassandra;
catherine: cathy kathy kate katie katherine kathryn katharine cath kath cathie kathie katy kat kay kit kitty catharine
cathryn kathrine; cecilia: cissy celia cece cecelia; charlotte: charlie lottie lotte char; chelsea: chels;
christine: chris tina christina kristina kristine chrissie chrissy cristina christy christie; claire: clare clair;
clementine: clem clemmie; constance: connie; cordelia: delia; courtney: kourtney; crystal: krystal chrystal;
cynthia: cindy cyndi cindi;
danielle: dani danni; daphne: daph; deborah: deb debbie debra debby debora; denise: dee denice; diane: di diana dianne;
dolores: lola delores dolly; dorothy: dot dottie dolly dorothea dodie thea;
edith: edie; eileen: aileen ilene; eleanor: ellie nell nora elinor nellie eleanore elenor leonora;
elizabeth: liz beth betty lizzie eliza libby lisa betsy bess bessie elisabeth lizzy elsie elspeth liza bette lizbeth;
emily: em emmy emmie emilie; emma: em emmie; erica: erika ricki; esmeralda: esme; esther: essie ester hettie;
euphemia: effie; eve: eva evie; evelyn: evie eveline;
felicity: fliss; fiona: fi; florence: flo flossie florrie; frances: fran fanny frannie franny francie frankie;
francesca: fran chesca cesca;
gabrielle: gabby gabi gaby gabriela gabriella; genevieve: gen genny; georgina: georgie gina georgiana;
geraldine: gerry gerri geri; gertrude: gertie trudy trudie gert; gillian: jill gill gilly jillian; grace: gracie;
gwendolyn: gwen gwendolen;
hannah: hanna; harriet: hattie hatty harriett; helen: nell ellen helena nellie helene lena;
henrietta: hattie etta hettie hetty; hilary: hillary;
imogen: immy imogene; irene: rene renie; isabel: izzy bella belle isabella isabelle isobel izzie;
jacqueline: jackie jacqui jacquelyn jaclyn jacky jacquie; jane: janie jayne; janet: jan janette; janice: jan janis;
jean: jeanie jeannie jeanne; jemima: mima jem; jennifer: jen jenny jenn jennie jenni jenifer;
jessica: jess jessie jessi; joan: joanie; joanna: jo joanne joann; jocelyn: joss; josephine: jo josie;
judith: judy judi jude judie; julia: julie; juliet: juliette;
karen: karin caren karyn; kathleen: kathy cathleen kath; katrina: trina catrina kat; kelly: kelley kelli kellie;
kimberly: kim kimberley kimmy kimmie kimberlee; kristen: kris kirsten kristin kristi kristy kirstin;
laura: laurie lori lora; leah: lea; letitia: letty lettie tish; lillian: lily lil lilly lilian lillie;
linda: lindy lynda lin; loretta: lori etta retta; lorraine: lori loraine; louise: lou lulu louisa; lucille: lucile;
lucinda: cindy; lucy: lucie; lynn: lynne lyn;
madeline: maddie maddy madeleine madelyn madalyn; marcia: marsha marcie;
margaret: maggie peggy meg marge margie madge daisy greta mags peg rita margo margot maisie margery marjorie margret
marguerite; marian: marion marianne maryanne; marilyn: marilynn; martha: mattie; mary: molly polly mollie mamie;
matilda: tilly tilda mattie; maud: maude maudie; maureen: mo; melanie: mel melany; melinda: mindy mel;
melissa: mel missy lissa mellissa; meredith: merry; michelle: shelly michele chelle shell; mildred: millie milly;
miranda: mandy; miriam: mimi mim; monica: monika;
nancy: nan nance; natalie: nat nattie nathalie; natasha: tasha nat natacha;
nicole: nicky nikki nic nicola nichole nicki;
olivia: liv livvy livia ollie;
pamela: pam pammy; patricia: pat patty trish tricia patsy patti pattie trisha; penelope: penny pen;
philippa: pippa pip phillipa; phoebe: phebe; phyllis: phyl phillis; priscilla: cilla prissy; prudence: pru prue;
rachel: rach rachael rae; rebecca: becky becca beck rebekah bex reba becki; regina: gina; rhonda: ronda;
roberta: bobbie robbie; rosalind: roz ros; rose: rosie rosa; rosemary: rosie rosemarie romy; roxanne: roxy roxie roxana;
ruth: ruthie;
samantha: sam sammy sammie; sandra: sandy sandie sondra; sarah: sally sara sadie sal sallie; selina: selena celina;
sharon: sharron shari shaz; sheila: shelagh sheelagh; shelley: shelly shellie; shirley: shirl;
sophia: sophie sofia sofie soph; stephanie: steph stefanie stephany steff;
susan: sue susie suzy suzanne susanna susannah suzie suzanna; sylvia: silvia sylvie;
tabitha: tabby; tamara: tammy tamra tami; theodora: thea dora theo;
theresa: terry tess teresa tessa terri tessie terrie; tiffany: tiff tiffani; tracey: tracy tracie traci;
valerie: val valery; vanessa: nessa; veronica: ronnie roni veronika; victoria: vicky tori vic vicki vickie vikki;
virginia: ginny ginger ginnie; vivian: viv vivien vivienne;
wilhelmina: willa mina minnie wilma; winifred: winnie freda win;
yvonne: vonnie;
zoe: zoey;
"""

ADDRESS_WORDS = """
alley: aly; apartment: apt apts apmt; avenue: ave av aven avn avenu; bank: bnk; beach: bch; bottom: btm;
boulevard: blvd boul bvd; bridge: brg brdg; building: bldg bld; center: ctr centre cntr; circle: cir circ crcl;
close: cl; corner: cnr cor; court: ct crt; courts: cts; cove: cv; creek: crk; crescent: cres cresc crs;
crossing: xing crssng; department: dept; drive: dr drv; east: e; estate: est; estates: ests; expressway: expy expwy;
extension: ext extn; field: fld; fields: flds; flat: flt; floor: fl flr; forest: frst; fort: ft; freeway: fwy frwy;
garden: gdn grdn; gardens: gdns grdns; gate: gte; glen: gln; green: grn; grove: grv gr; harbor: hbr harbour;
heights: hts hgts; highway: hwy hiway hway; hill: hl; hills: hls; house: hse; island: isl; junction: jct jctn; lake: lk;
lakes: lks; landing: lndg; lane: ln; lodge: ldg; lower: lwr; manor: mnr; meadow: mdw; meadows: mdws; mill: ml;
mount: mt; mountain: mtn mtns; north: n nth; northeast: ne; northwest: nw; number: num nbr; orchard: orch; parade: pde;
park: pk prk; parkway: pkwy pky parkwy; place: pl plc; plains: plns; plaza: plz plza; point: pt; port: prt;
post office: po pob; quay: qy; ranch: rnch; ridge: rdg; rise: ri; river: riv rvr; road: rd; room: rm; route: rte;
shore: shr; south: s sth; southeast: se; southwest: sw; spring: spg; springs: spgs; square: sq sqr; station: sta stn;
street: st str strt; suite: ste; summit: smt; terrace: ter terr tce; track: trak; trail: trl; turnpike: tpke tpk;
upper: upr; valley: vly; view: vw; village: vlg vill; vista: vis; walk: wlk; way: wy; west: w; yard: yd; 1st: first;
2nd: second; 3rd: third; 4th: fourth; 5th: fifth; 6th: sixth; 7th: seventh; 8th: eighth; 9th: ninth; 10th: tenth;
"""

TITLES = """
mr mrs ms miss mx mister dr doctor prof professor sir dame lord lady rev reverend revd hon fr capt lt sgt maj
herr frau mme mlle monsieur madame sr sra srta
"""
NAME_SUFFIXES = "jr sr junior senior ii iii iv 2nd 3rd phd md dds dvm esq esquire jd mba bsc msc obe mbe cbe"
BEFORE, AFTER = frozenset(TITLES.split()), frozenset(NAME_SUFFIXES.split())  # what may go before a name, and after it
BEFORE_OR_AFTER = BEFORE | AFTER
PHD, PO_BOX = re.compile(r"\bph d\b"), re.compile(r"\bp o(?= box\b)")


def _entries(*tables: str) -> dict[str, tuple[str, ...]]:
    """Turn tables into {formal: short forms}."""
    entries = (entry.split(":") for entry in "".join(tables).split(";") if entry.strip())
    return {name.strip(): tuple(short.split()) for name, short in entries}


def _turned(table: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Turn {formal: short forms} into {short form: formal ones}, in the order of the table."""
    turned: dict[str, tuple[str, ...]] = {}
    for formal_one, short_ones in table.items():
        for short in short_ones:
            turned[short] = (*turned.get(short, ()), formal_one)
    return turned


SHORT_FORMS = _entries(MEN, WOMEN)
FORMAL_NAMES = _turned(SHORT_FORMS)
OF_THE_NEXT = {"st": "saint", "dr": "doctor"}  # at the start: St James, Dr Martin Luther King
STREET_WORDS = {short: words[0] for short, words in _turned(_entries(ADDRESS_WORDS)).items()}


def formals(token: str) -> tuple[str, ...]:
    """Return all formal names of a short form, the commoner first; of any other word the word itself.

    >>> formals("sam"), formals("otto")
    (('samuel', 'samantha'), ('otto',))
    """
    return FORMAL_NAMES.get(token, (token,))


def formal(token: str) -> str:
    """Return the first formal name of a short form, in lower case; any other word as it is.

    >>> formal("bill"), formal("william"), formal("cathy"), formal("kathy")
    ('william', 'william', 'catherine', 'catherine')
    """
    return formals(token)[0]


def plain_name(value: str) -> str:
    """Put the given name first, also for "Smith, John", and drop titles before and after it, but never all of it.

    >>> plain_name("Dr. Smith, John (Ph.D.)"), plain_name("Sammy Davis, Jr."), plain_name("Dr.")
    ('john smith', 'sammy davis', 'dr')
    """
    if "," not in value:
        return " ".join(_untitled(_words(value)))
    parts = [words for part in value.split(",") if (words := _words(part))]
    people = [_untitled(words) for words in parts if not BEFORE_OR_AFTER.issuperset(words)]
    if len(people) == 2:
        people.reverse()
    return " ".join(_untitled([word for words in people or parts for word in words]))


def _words(value: str) -> list[str]:
    text = fold(value)
    return (PHD.sub("phd", text) if "ph d" in text else text).split()


def _untitled(words: list[str]) -> list[str]:
    start, stop = 0, len(words)
    while start < stop - 1 and words[start] in BEFORE:
        start += 1
    while start < stop - 1 and words[stop - 1] in AFTER:
        stop -= 1
    return words[start:stop]


def formal_name(value: str) -> str:
    """Make every short form in a name formal."""
    return " ".join(map(formal, value.split()))


def full_address(value: str) -> str:
    """Write the words of an address in full."""
    words = (PO_BOX.sub("po", value) if "p o box" in value else value).split()
    full = [STREET_WORDS.get(word, word) for word in words]
    for n, (word, after) in enumerate(pairwise(words)):
        if word in OF_THE_NEXT and (n == 0 or words[n - 1].isdigit()) and after.isalpha() and after not in STREET_WORDS:
            full[n] = OF_THE_NEXT[word]
    return " ".join(full)
