"""Names, streets and towns for the two companies, the frequent ones first."""


def _words(text: str) -> list[str]:
    return text.split()


GIVEN = _words("""
James Mary John Patricia Robert Jennifer Michael Linda William Elizabeth David Barbara Richard Susan Joseph Jessica
Thomas Sarah Charles Karen Christopher Nancy Daniel Margaret Matthew Lisa Anthony Betty Donald Dorothy Mark Sandra Paul
Ashley Steven Kimberly Andrew Donna Kenneth Emily George Michelle Joshua Carol Kevin Amanda Brian Melissa Edward
Deborah Ronald Stephanie Timothy Rebecca Jason Laura Jeffrey Helen Ryan Sharon Jacob Cynthia Gary Kathleen Nicholas Amy
Eric Shirley Stephen Angela Jonathan Anna Larry Ruth Justin Brenda Scott Pamela Frank Nicole Brandon Katherine Raymond
Virginia Gregory Catherine Benjamin Christine Samuel Samantha Patrick Debra Alexander Janet Jack Rachel Dennis Carolyn
Jerry Emma Tyler Maria Aaron Heather Henry Diane Douglas Julie Peter Joyce Adam Victoria Nathan Kelly Zachary Christina
Walter Joan Kyle Evelyn Harold Lauren Carl Judith Jeremy Olivia Keith Frances Roger Martha Gerald Cheryl Ethan Megan
Arthur Andrea Terry Hannah Lawrence Jacqueline Sean Ann Christian Jean Albert Alice Joe Kathryn Austin Gloria Jesse
Teresa Philip Doris Bruce Sara Hugo Janice Roy Julia Eugene Marie Louis Madison Isaac Grace Oscar Judy Leon Abigail
""")

SURNAMES = _words("""
Smith Johnson Williams Brown Jones Miller Davis Wilson Anderson Taylor Thomas Moore Martin Jackson Thompson White Lee
Harris Clark Lewis Robinson Walker Young Allen King Wright Scott Hill Green Adams Nelson Baker Hall Campbell Mitchell
Carter Roberts Phillips Evans Turner Parker Edwards Collins Stewart Morris Murphy Cook Rogers Morgan Cooper Peterson
Reed Bailey Bell Kelly Howard Ward Cox Richardson Wood Watson Brooks Bennett Gray James Hughes Price Myers Long Foster
Sanders Ross Powell Sullivan Russell Jenkins Perry Butler Barnes Fisher Henderson Coleman Simmons Patterson Jordan
Reynolds Hamilton Graham Wallace Cole West Owens Griffin Hayes Bryant Ellis Gibson Ford Marshall Harrison Wells Webb
Tucker Porter Hunter Hicks Crawford Henry Boyd Mason Kennedy Warren Dixon Burns Gordon Shaw Holmes Rice Robertson Hunt
Black Daniels Palmer Mills Grant Knight Ferguson Stone Dunn Perkins Hudson Spencer Gardner Stephens Payne Pierce Berry
Matthews Arnold Wagner Willis Ray Watkins Olson Carroll Duncan Snyder Hart Cunningham Bradley Lane Andrews Fox Harper
Armstrong Carpenter Weaver Greene Lawrence Elliott Chapman Sims Austin Peters Kelley Franklin Lawson Fields Ryan
Schmidt Carr Wheeler Chambers Banks Little Lynch Bishop Montgomery Burke Morrison Larson Walsh Fuller Meyer Hoffman
Hansen Reid Garrett Fletcher Newman Barker Bates Lowe Nichols Barrett Steele Rhodes Caldwell Norris Hawkins Sharp
Curtis Barber Potter Todd Blake Norton Hardy Cross Haynes Page Lambert Dawson Moss Higgins Doyle Wade Brewer Walters
Hodges Parsons Nolan Drake Pratt Osborne Frost Sutton Quinn Maxwell Bowen Cobb Holt Gill Finch Bolton Griffiths
Pickering Whitaker Ashworth Tennant Hargreaves Lockwood Thornton Underwood Vance Winslow Yates Abbott Beckett Crosby
Dalton Eastwood Fairbanks Goodwin Hathaway Ingram Jarvis Kendall Langley Marlow Northcott Oakley Prescott Radcliffe
Sheffield Tillman Upton Vaughan Wakefield Albright Birch Colby Delaney Everett Fenton Garland Hobbs Irwin Judd Kirby
Lomax Mercer Nash Orton Pruitt Roscoe Slater Tate Usher Vickers Whitfield Yardley Ackerman Blackwell Cartwright Dempsey
Ellison Farrell
""")

BEGINNINGS = _words("""
Al Ash Barn Beck Black Bram Brook Burn Cal Clay Clif Cole Crow Dal Dun Ed Ell Ever Fair Farn Fen Glen Had Hal Har Hol
Kel Kirk Lang Lin Mar Mel Mil Mor New Nor Oak Pem Rad Ran Red Rock Ros Row San Sel Sher Stan Stock Sud Thorn Til Wad
Wal War Wel Whit Win Wood Wyn
""")

ENDINGS = _words(
    "brook bury by combe croft dale den field ford gate ham hurst ley low man mere more stead ton well wick worth"
)

RARE = [beginning + ending for ending in ENDINGS for beginning in BEGINNINGS]
SURNAMES += [name for name in RARE if name not in SURNAMES]

STREETS = _words("""
Main Church Park Oak Maple Elm Washington Lake Hill Walnut Spring North Ridge Cedar Pine Chestnut Willow Mill River
Center Market Union Water High Lincoln Franklin Jackson Jefferson Adams Madison Highland Forest Meadow Grove Prospect
School Cherry Dogwood Locust Spruce Poplar Birch Magnolia Hickory Sycamore Laurel Juniper Holly Ivy Rose Orchard Garden
Valley Sunset Summit Liberty Bridge Railroad Broad State Court College Academy Library Chapel Abbey Bishop Canal Harbor
Beach Ocean Shore Cliff Bay Island Lighthouse Anchor Dock Ferry Quarry Granite Slate Marble Copper Silver Gold Iron
Mason Baker Potter Weaver Tanner Cooper Fletcher Miller Shepherd Hunter Falcon Eagle Robin Heron Swan Fox Deer Elk
Beaver Otter Badger Colonial Victoria Albert George Windsor Berkshire Devon Surrey Essex Norfolk Cambridge Oxford
Bristol York Lancaster Chester Warwick Stratford Avon Thames Clyde Severn Crescent Circle Terrace Fairview Brookside
Lakeside Hillcrest Woodland Greenwood Edgewood Rosewood Glenwood Briar Clover Heather Fern Primrose Violet Daisy Tulip
Aspen Hawthorn Linden Beech Alder Rowan Larch Mulberry Peach Pear Plum Apple Vine Harvest Barley Wheat Granary Windmill
Cottage Manor Castle
""")

STREET_KINDS = {  # and how they are written in short
    "Street": "St", "Avenue": "Ave", "Road": "Rd", "Drive": "Dr", "Lane": "Ln", "Court": "Ct", "Boulevard": "Blvd",
    "Place": "Pl",
}  # fmt: skip

TOWNS = _words("""
Springfield Franklin Greenville Bristol Clinton Fairview Salem Madison Georgetown Arlington Ashland Dover Oxford
Jackson Burlington Manchester Milton Newport Auburn Dayton Lexington Milford Riverside Cleveland Hudson Kingston
Oakland Winchester Centerville Lebanon Marion Monroe Clayton Chester Lancaster Princeton Richmond Bloomfield Brighton
Camden Canton Concord Danville Durham Easton Fairfield Glendale Hamilton Harrison Henderson Hillsboro Jamestown
Lakewood Lincoln Mansfield Marlborough Medford Middletown Newark Norwood Plymouth Portland Quincy Rochester Shelby
Somerset Stratford Trenton Troy Union Vernon Warren Warwick Waterford Waverly Westfield Weston Woodbury Woodstock
Ashford Barton Crosswell Deerfield
""")

NICKNAMES = {
    "James": "Jim", "Mary": "Molly", "John": "Jack", "Patricia": "Pat", "Robert": "Bob", "Jennifer": "Jenny",
    "Michael": "Mike", "William": "Bill", "Elizabeth": "Liz", "David": "Dave", "Barbara": "Barb", "Richard": "Dick",
    "Susan": "Sue", "Joseph": "Joe", "Jessica": "Jess", "Thomas": "Tom", "Charles": "Chuck", "Christopher": "Chris",
    "Daniel": "Dan", "Margaret": "Peggy", "Matthew": "Matt", "Anthony": "Tony", "Donald": "Don", "Dorothy": "Dot",
    "Steven": "Steve", "Kimberly": "Kim", "Andrew": "Andy", "Kenneth": "Ken", "Edward": "Ted", "Deborah": "Debbie",
    "Timothy": "Tim", "Rebecca": "Becky", "Katherine": "Kate", "Samuel": "Sam", "Benjamin": "Ben",
    "Alexander": "Alex",
}  # fmt: skip
